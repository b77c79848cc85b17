// The 1/r^2 rate of the backward messages of product and leaky ReLU (App. C, third validation).
//
// For each signal-to-noise ratio r the DMA marginal of x is compared with importance sampling, as in the paper, and
// with quadrature of the exact marginal. Sampling noise alone gives a histogram a
// KL divergence of about bins / (2 effective samples) from the truth; quadrature has no such floor.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include <dma/factors/leaky_relu.h>
#include <dma/factors/product.h>
#include <dma/special/quadrature.h>

#include "validation/exact_messages.h"
#include "validation/experiment.h"
#include "validation/fit.h"
#include "validation/importance_sampling.h"
#include "validation/verdicts.h"

namespace dma::validation {
namespace {

using nlohmann::json;
using Message = Gaussian<double>;

constexpr std::size_t samples = 500'000;
constexpr std::size_t bins = 500;
constexpr std::uint64_t seed = 20'240'601;
constexpr double slope = 0.1;
constexpr double fit_from = 4;
constexpr double asymptotic_from = 15.5;
constexpr double paper_slope = -2;

// Two decades, ten values each.
std::vector<double> ratios() {
  std::vector<double> result;
  for (int k = 0; k <= 20; ++k) result.push_back(std::pow(10.0, k / 10.0));
  return result;
}

// One value of r: the incoming messages (output first, x second) and the exact message to x.
struct Scene {
  std::vector<Message> in;
  LogDensity log_exact;
};

Scene product_scene(double r) {
  const auto z = Message::from_moments(10, 100 / (r * r));
  const auto x = Message::from_moments(3, 1);
  const auto y = Message::from_moments(4, 16 / (r * r));
  return {{z, x, y}, [=](double at) { return product_to_x_log_density(at, z, y); }};
}

Scene relu_scene(double r, double y_variance) {
  const auto y = Message::from_moments(1, y_variance);
  const auto x = Message::from_moments(1, 1 / (r * r));
  const ReluToX exact(LeakyRelu{slope}, y);
  return {{y, x}, [=](double at) { return exact.log_density(at); }};
}

std::vector<double> breaks_of_marginal(const Scene& scene, Message message) {
  const Message x = scene.in[1];
  return merged_breaks(merged_breaks(breaks_of(x), breaks_of(x * message)), {0});
}

// The panels between low and high.
std::vector<double> inside(const std::vector<double>& breaks, double low, double high) {
  std::vector<double> result{low};
  std::copy_if(breaks.begin(), breaks.end(), std::back_inserter(result),
               [=](double at) { return at > low && at < high; });
  result.push_back(high);
  return result;
}

// Curves for the summary.
struct Curve {
  std::vector<double> r, histogram, quadrature;
};

json measure(const Scene& scene, Message message, const WeightedSamples& drawn,
             const Histogram& histogram) {
  const Message x = scene.in[1];
  const auto breaks = breaks_of_marginal(scene, message);
  const double in_range =
      marginal_kl(scene.log_exact, message, x, inside(breaks, histogram.low, histogram.high));
  return {{"kl_histogram", kl_divergence(histogram, x * message)},
          {"kl_quadrature", marginal_kl(scene.log_exact, message, x, breaks)},
          {"kl_quadrature_in_histogram_range", in_range},
          {"histogram_bias", histogram.bias},
          {"histogram_bias_dominates", histogram.bias > in_range},
          {"effective_samples", effective_sample_size(drawn.weights)}};
}

// Appends the rows of both rules, returns the curve of the direct one.
template <class F, class SceneAt>
Curve sweep(const F& factor, const SceneAt& scene_at, json& rows) {
  Curve curve;
  std::uint64_t row_seed = seed;
  for (const double r : ratios()) {
    const Scene scene = scene_at(r);
    const auto drawn = importance_samples(factor, scene.in, samples, row_seed++);
    const auto histogram = weighted_histogram(drawn.values[1], drawn.weights, bins);
    for (const Rule rule : {Rule::direct, Rule::linear}) {
      const Message message = factor.message(1, Incoming<double>(scene.in), rule);
      json row = measure(scene, message, drawn, histogram);
      const double from_histogram = row["kl_histogram"];
      const double from_quadrature = row["kl_quadrature"];
      row.update({{"factor", factor.info().name},
                  {"rule", name_of(rule)},
                  {"r", r},
                  {"kl_histogram_r2", from_histogram * r * r},
                  {"kl_quadrature_r2", from_quadrature * r * r}});
      rows.push_back(row);
      if (rule == Rule::linear) continue;
      curve.r.push_back(r);
      curve.histogram.push_back(from_histogram);
      curve.quadrature.push_back(from_quadrature);
    }
  }
  return curve;
}

// The other reading of the paper's ReLU panel: y's message concentrates together with x's.
void add_concentrated_relu(json& rows) {
  const LeakyRelu relu{slope};
  for (const double r : ratios()) {
    if (r > 8) break;  // the divergence is below 1e-24 there
    const Scene scene = relu_scene(r, 1 / (r * r));
    const Message message = relu.to_x_direct(scene.in[0]);
    const double kl =
        marginal_kl(scene.log_exact, message, scene.in[1], breaks_of_marginal(scene, message));
    rows.push_back({{"factor", "leaky_relu, y ~ N(1, 1/r^2)"},
                    {"rule", "direct"},
                    {"r", r},
                    {"kl_quadrature", kl},
                    {"kl_quadrature_r2", kl * r * r}});
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Rate and constant of kl ~ C r^slope from r on; C as the paper takes it, the median of kl r^2.
void add_rate(json& summary, const std::string& factor, const std::string& suffix,
              const Curve& curve, const std::vector<double>& kl, double from) {
  const auto first = std::lower_bound(curve.r.begin(), curve.r.end(), from) - curve.r.begin();
  const std::vector<double> r(curve.r.begin() + first, curve.r.end());
  const std::vector<double> values(kl.begin() + first, kl.end());
  std::vector<double> scaled;
  for (std::size_t i = 0; i < r.size(); ++i) scaled.push_back(values[i] * r[i] * r[i]);
  const Line line = log_log_fit(r, values);
  summary[factor + "_slope" + suffix] = line.slope;
  summary[factor + "_slope" + suffix + "_interval"] = interval(line);
  summary[factor + "_C" + suffix] = median(scaled);
}

void add_rates(json& summary, const std::string& factor, const Curve& curve) {
  add_rate(summary, factor, "", curve, curve.histogram, fit_from);
  add_rate(summary, factor, "_quadrature", curve, curve.quadrature, fit_from);
  add_rate(summary, factor, "_quadrature_asymptotic", curve, curve.quadrature, asymptotic_from);
}

constexpr const char* remark =
    "The rate 1/r^2 holds, but not as the paper measures it. With 500 bins and 500,000 samples the "
    "histogram's own bias is 5e-4 and more (product: it grows with r, as fewer samples carry "
    "weight). In the rows marked histogram_bias_dominates it exceeds the divergence, so that the "
    "histogram's slope over r >= 4 is not -2. By quadrature the ReLU's slope is near -2. The "
    "product's divergence has a second maximum near r = 6 and falls like 1/r^2 only from about "
    "r = 16 on: the slope over r >= 4 mixes the two, and at r = 10 the divergence is not orders of "
    "magnitude below that at r = 2.";

std::size_t dominated(const json& rows) {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const json& row) {
    return row.value("rule", "") == "direct" && row.value("r", 0.0) >= fit_from &&
           row.value("histogram_bias_dominates", false);
  }));
}

json slope_verdict(const json& summary, const std::string& factor, const std::string& suffix,
                   const std::string& how, const std::string& why) {
  const double slope = summary[factor + "_slope" + suffix];
  const bool agrees = std::abs(slope - paper_slope) < 0.1;
  return verdict("slope of the error in r, " + factor + ", " + how, digits(slope),
                 digits(paper_slope), agrees_if(agrees), agrees ? "" : why);
}

json verdicts(const json& summary) {
  const std::size_t rows = summary["direct_rows_where_histogram_bias_dominates"];
  const std::string bias = "The histogram's own bias exceeds the divergence in " +
                           std::to_string(rows) +
                           " rows of both factors together, and hides the rate.";
  const std::string early = "The rate appears only at larger r.";
  json result = json::array();
  for (const std::string factor : {"product", "relu"}) {
    result.push_back(slope_verdict(summary, factor, "",
                                   "by the paper's histogram, r >= " + digits(fit_from), bias));
    result.push_back(slope_verdict(summary, factor, "_quadrature",
                                   "by quadrature, r >= " + digits(fit_from), early));
    result.push_back(slope_verdict(summary, factor, "_quadrature_asymptotic",
                                   "by quadrature, r >= " + digits(asymptotic_from), early));
  }
  return result;
}

}  // namespace

json snr() {
  json rows = json::array();
  json summary;
  add_rates(summary, "product", sweep(Product{}, product_scene, rows));
  add_rates(summary, "relu",
            sweep(
                LeakyRelu{slope}, [](double r) { return relu_scene(r, 1); }, rows));
  summary["direct_rows_where_histogram_bias_dominates"] = dominated(rows);
  summary["paper_slope"] = paper_slope;
  summary["remark"] = remark;
  add_concentrated_relu(rows);
  return {
      {"settings",
       {{"r", ratios()},
        {"fit_from_r", fit_from},
        {"asymptotic_fit_from_r", asymptotic_from},
        {"samples", samples},
        {"bins", bins},
        {"histogram_range", {0.001, 0.999}},
        {"seed", seed},
        {"seed_of_row", "seed + index of r"},
        {"product", "x ~ N(3, 1), y ~ N(4, (4/r)^2), z ~ N(10, (10/r)^2)"},
        {"relu", "slope 0.1, x ~ N(1, 1/r^2), y ~ N(1, 1)"},
        {"relu_y",
         "The paper names no message from y. It is kept fixed, because the paper lets only x's "
         "width follow r; mean 1 and variance 1 are those of its nominal ReLU scenario. With "
         "a y that concentrates too (rows 'y ~ N(1, 1/r^2)') the error falls exponentially, and "
         "no 1/r^2 would be seen."}}},
      {"summary", summary},
      {"verdicts", verdicts(summary)},
      {"rows", rows}};
}

}  // namespace dma::validation
