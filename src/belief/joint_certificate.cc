#include "belief/joint_certificate.h"

#include <algorithm>
#include <cmath>

#include "belief/joint_algebra.h"
#include "layers/gradients.h"

namespace dma::detail {
namespace {

// Some of the rows, evenly spaced.
std::vector<double> some_inputs(const Data& rows) {
  constexpr std::size_t most = 100;
  const std::size_t count = std::min(rows.rows, most);
  const std::size_t width = rows.inputs.size() / rows.rows;
  std::vector<double> inputs;
  for (std::size_t n = 0; n < count; ++n) {
    const auto row = rows.inputs.subspan(n * rows.rows / count * width, width);
    inputs.insert(inputs.end(), row.begin(), row.end());
  }
  return inputs;
}

// See JointCertificate. Functions w drawn from the posterior: exact f(x; w) against f(x; c) + J (w - c).
double linearisation_error(const JointPosterior& posterior, std::span<const double> inputs) {
  constexpr std::size_t functions = 16;
  const std::size_t outputs = posterior.architecture.outputs();
  const std::size_t rows = inputs.size() / posterior.architecture.inputs();
  const Vector centre = centre_of(posterior);
  std::vector<double> at_centre(rows * outputs);
  const Block block(posterior.architecture, posterior.unit, centre, inputs, 0, rows,
                    at_centre.data());
  std::vector<Gradients> gradients;  // by output
  for (std::size_t k = 0; k < outputs; ++k) {
    gradients.emplace_back(posterior.architecture, rows);
    gradients[k].set(0, 1, block, only_output(k, outputs, rows));
  }
  const OutputMoments moments = outputs_of(posterior, inputs, rows);
  const Matrix drawn = draw_weights(posterior, functions, 1);
  std::vector<double> exact(rows * outputs);
  double sum = 0;
  for (Eigen::Index s = 0; s < drawn.cols(); ++s) {
    const Vector weights = drawn.col(s);
    write_values(posterior.architecture, posterior.unit, weights, inputs, 0, rows, exact.data());
    for (std::size_t k = 0; k < outputs; ++k) {
      const Vector linear = gradients[k].times(weights - centre);
      for (std::size_t n = 0; n < rows; ++n) {
        const std::size_t place = n * outputs + k;
        const double off = exact[place] - at_centre[place] - linear[index(n)];
        sum += off * off / moments.variance[place];
      }
    }
  }
  return std::sqrt(sum / static_cast<double>(functions * rows * outputs));
}

}  // namespace

Certificate certify(const JointPosterior& function, const Data& rows, const Bounded& bounded,
                    JointCertificate joint) {
  const std::vector<double> inputs = some_inputs(rows);
  joint.linearisation_error = linearisation_error(function, inputs);
  Certificate certificate{.examples = inputs.size() / function.architecture.inputs(),
                          .bounded = bounded,
                          .joint = joint,
                          .layers = {}};
  const Architecture& architecture = function.architecture;
  const auto variances = marginal_variances(function);
  for (std::size_t l = 0; l < architecture.layers(); ++l) {
    const auto own = architecture.layer(l).part(variances);
    const auto [least, most] = std::minmax_element(own.begin(), own.end());
    certificate.layers.push_back(
        {.smallest_precision = 1 / *most, .largest_precision = 1 / *least});
  }
  return certificate;
}

}  // namespace dma::detail
