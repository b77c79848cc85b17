#include <dma/special/quadrature.h>

#include <numbers>
#include <stdexcept>
#include <string>

namespace dma::special {
namespace {

void check_order(const char* rule, std::size_t order) {
  if (order < 1 || order > 128) {
    throw std::invalid_argument(std::string(rule) + ": the order must be 1 to 128, got " +
                                std::to_string(order));
  }
}

// The orthonormal polynomials p_0 ... p_order at x by b_{k+1} p_{k+1} = x p_k - b_k p_{k-1}. Returns
// p_order, and the sum of the squares of those before it, which is the inverse of a node's weight.
struct Orthonormal {
  double last, squares;
};

template <class Beta>
Orthonormal evaluate(std::size_t order, double x, double p0, const Beta& beta) {
  double previous = 0;
  double current = p0;
  double squares = 0;
  for (std::size_t k = 0; k < order; ++k) {
    squares += current * current;
    const double next = (x * current - (k == 0 ? 0 : beta(k) * previous)) / beta(k + 1);
    previous = current;
    current = next;
  }
  return {current, squares};
}

// The roots of p_n interlace those of p_{n-1}, so bisection between them cannot miss one.
template <class Beta>
QuadratureRule rule_from_recurrence(std::size_t order, double bound, double p0, const Beta& beta) {
  std::vector<double> roots;
  for (std::size_t n = 1; n <= order; ++n) {
    std::vector<double> ends{-bound};
    ends.insert(ends.end(), roots.begin(), roots.end());
    ends.push_back(bound);
    roots.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      double low = ends[i];
      double high = ends[i + 1];
      const bool rising = evaluate(n, high, p0, beta).last > 0;
      for (double middle = (low + high) / 2; middle > low && middle < high;
           middle = (low + high) / 2) {
        ((evaluate(n, middle, p0, beta).last > 0) == rising ? high : low) = middle;
      }
      roots[i] = low;
    }
  }
  QuadratureRule rule{roots, {}};
  for (const double root : roots)
    rule.weights.push_back(1 / evaluate(order, root, p0, beta).squares);
  return rule;
}

}  // namespace

namespace detail {
const std::array<double, 5> legendre_nodes{0.14887433898163121, 0.43339539412924719,
                                           0.67940956829902441, 0.86506336668898451,
                                           0.97390652851717172};
const std::array<double, 5> legendre_weights{0.29552422471475287, 0.26926671930999635,
                                             0.21908636251598204, 0.14945134915058059,
                                             0.06667134430868814};
const std::array<double, 5> legendre_near{0.44660231288025764, -0.58360538929991497,
                                          0.75752279865149540, -1.0162879656447337,
                                          1.5880053786751228};
const std::array<double, 5> legendre_far{-0.33085836793907110, 0.23069245439371715,
                                         -0.14460710813323952, 0.073528052187338737,
                                         -0.020992165770972457};
}  // namespace detail

QuadratureRule gauss_hermite(std::size_t order) {
  check_order("gauss_hermite", order);
  const double bound = 2 * std::sqrt(static_cast<double>(order)) + 1;
  return rule_from_recurrence(order, bound, 1.0,
                              [](std::size_t k) { return std::sqrt(static_cast<double>(k)); });
}

QuadratureRule gauss_legendre(std::size_t order) {
  check_order("gauss_legendre", order);
  return rule_from_recurrence(order, 1.0, std::numbers::sqrt2 / 2, [](std::size_t k) {
    const auto n = static_cast<double>(k);
    return n / std::sqrt(4 * n * n - 1);
  });
}

std::vector<double> even_breaks(double a, double b, std::size_t n) {
  std::vector<double> breaks(n + 1);
  for (std::size_t k = 0; k <= n; ++k) {
    breaks[k] = a + (b - a) * static_cast<double>(k) / static_cast<double>(n);
  }
  return breaks;
}

}  // namespace dma::special
