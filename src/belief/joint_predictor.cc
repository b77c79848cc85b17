#include "belief/joint_predictor.h"

#include <algorithm>

#include <dma/base/parallel.h>

#include "belief/uncertain_inputs.h"
#include "belief/varying_noise.h"

namespace dma::detail {
namespace {

constexpr std::size_t rows_per_task = 512;

}  // namespace

KnowledgePredictor::KnowledgePredictor(const JointKnowledge& known)
    : architecture_(known.function.architecture),
      unit_(known.function.unit),
      centre_(centre_of(known.function)),
      function_(cpu_backend().predictor(known.function)),
      likelihood_(known.likelihood),
      noise_inputs_(known.noise_inputs) {
  if (known.log_noise) log_noise_ = cpu_backend().predictor(*known.log_noise);
}

OutputMoments KnowledgePredictor::outputs(std::span<const double> inputs, std::size_t rows,
                                          std::size_t threads) const {
  OutputMoments result = by_weights(inputs, rows, threads);
  add_input_variance({architecture_, unit_, centre_}, inputs, rows, result);
  return result;
}

OutputMoments KnowledgePredictor::by_weights(std::span<const double> inputs, std::size_t rows,
                                             std::size_t threads) const {
  OutputMoments result = room_for(architecture_, rows);
  if (log_noise_) {
    result.log_scale_mean.resize(rows);
    result.log_scale_variance.resize(rows);
  }
  const std::size_t width = architecture_.inputs();
  parallel_ranges(rows, rows_per_task, threads, [&](std::size_t begin, std::size_t end) {
    predict_part(inputs.subspan(begin * width, (end - begin) * width), begin, end, result);
  });
  return result;
}

Prediction KnowledgePredictor::predict(std::span<const double> inputs, std::size_t rows,
                                       std::size_t threads) const {
  return predictive(*likelihood_, outputs(inputs, rows, threads));
}

Prediction predictive(const Likelihood& likelihood, OutputMoments moments) {
  for (double& variance : moments.log_scale_variance) {
    variance = std::min(variance, most_log_noise_variance);
  }
  Prediction result = likelihood.predictive(moments.outputs(), moments.log_scale());
  // Members of a mixture that disagree on the noise are to be mixed by its log.
  if (result.noise_spread.empty()) result.noise_spread.resize(result.mean.size());
  return result;
}

void KnowledgePredictor::predict_part(std::span<const double> inputs, std::size_t begin,
                                      std::size_t end, OutputMoments& result) const {
  const std::size_t rows = end - begin;
  const std::size_t outputs = architecture_.outputs();
  double* mean = result.mean.data() + begin * outputs;
  double* covariance = outputs > 1 ? result.covariance.data() + begin * outputs * outputs : nullptr;
  function_->predict(inputs, rows, mean, result.variance.data() + begin * outputs, covariance);
  if (!log_noise_) return;
  log_noise_->predict(noise_inputs(inputs, {mean, rows}, noise_inputs_), rows,
                      result.log_scale_mean.data() + begin,
                      result.log_scale_variance.data() + begin, nullptr);
}

}  // namespace dma::detail
