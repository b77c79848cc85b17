// The only file that sees torch's headers.
#include "baselines/torch/torch_module.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/types.h>

#include <link.h>
#include <time.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

// OpenBLAS has its own threads, which torch does not know. Absent with another BLAS.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int count);

namespace dma::baselines {
namespace {

using torch::Tensor;

std::int64_t signed_size(std::size_t n) { return static_cast<std::int64_t>(n); }

// A matrix with a copy of the values.
Tensor matrix(const double* values, std::size_t rows, std::size_t columns,
              torch::ScalarType type = torch::kDouble) {
  // from_blob takes a non-const pointer; the copy leaves the original alone.
  return torch::from_blob(const_cast<double*>(values), {signed_size(rows), signed_size(columns)},
                          torch::kDouble)
      .to(type, false, true);
}

// One value per weight, as one matrix per layer.
std::vector<Tensor> matrices(const TorchProblem& problem, const double* values,
                             torch::ScalarType type = torch::kDouble) {
  std::vector<Tensor> all;
  for (const TorchLayer& layer : problem.layers) {
    const std::size_t fan_in = layer.inputs + (layer.bias ? 1 : 0);
    all.push_back(matrix(values, layer.width, fan_in, type));
    values += layer.width * fan_in;
  }
  return all;
}

void append(const Tensor& tensor, std::vector<double>& values) {
  const Tensor copy = tensor.detach().to(torch::kDouble).contiguous();
  const auto* first = copy.data_ptr<double>();
  values.insert(values.end(), first, first + copy.numel());
}

// The network as a user of torch would write it: one matrix of parameters per layer.
class TorchNetwork {
 public:
  TorchNetwork(const TorchProblem& problem, const double* weights,
               torch::ScalarType type = torch::kDouble)
      : layers_(problem.layers), parameters_(matrices(problem, weights, type)) {
    for (Tensor& parameter : parameters_) parameter.requires_grad_();
  }

  Tensor operator()(Tensor values) const {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      values = affine(l, values);
      if (l + 1 < layers_.size()) values = torch::leaky_relu(values, layers_[l].slope);
    }
    return values;
  }

  // Sum of precision w^2 / 2.
  Tensor penalty(const std::vector<Tensor>& precision) const {
    Tensor sum = torch::zeros({}, parameters_.front().scalar_type());
    for (std::size_t l = 0; l < precision.size(); ++l) {
      sum = sum + (precision[l] * parameters_[l].square()).sum() / 2;
    }
    return sum;
  }

  const std::vector<Tensor>& parameters() const { return parameters_; }

  std::vector<double> weights() const {
    std::vector<double> all;
    for (const Tensor& parameter : parameters_) append(parameter, all);
    return all;
  }

 private:
  Tensor affine(std::size_t l, const Tensor& values) const {
    const Tensor& parameter = parameters_[l];
    if (!layers_[l].bias) return torch::linear(values, parameter);
    const std::int64_t inputs = signed_size(layers_[l].inputs);
    return torch::linear(values, parameter.narrow(1, 0, inputs), parameter.select(1, inputs));
  }

  std::vector<TorchLayer> layers_;
  std::vector<Tensor> parameters_;
};

// The rows of a problem, and the precision of the weights' prior (none: empty).
struct Data {
  Data(const TorchProblem& problem, const std::vector<double>& prior_precision,
       torch::ScalarType type = torch::kDouble)
      : inputs(matrix(problem.inputs, problem.rows, problem.layers.front().inputs, type)),
        targets(problem.classes
                    ? matrix(problem.targets, problem.rows, 1, torch::kLong).squeeze(1)
                    : matrix(problem.targets, problem.rows, problem.layers.back().width, type)) {
    if (!prior_precision.empty()) precision = matrices(problem, prior_precision.data(), type);
  }

  Tensor inputs, targets;
  std::vector<Tensor> precision;
};

std::unique_ptr<torch::optim::Optimizer> optimizer(const TorchNetwork& network,
                                                   const AdamOptions& options) {
  if (options.weight_decay > 0) {
    return std::make_unique<torch::optim::AdamW>(
        network.parameters(),
        torch::optim::AdamWOptions(options.learning_rate).weight_decay(options.weight_decay));
  }
  return std::make_unique<torch::optim::Adam>(network.parameters(),
                                              torch::optim::AdamOptions(options.learning_rate));
}

// 0, ..., rows - 1 in random order (Fisher and Yates).
Tensor shuffled(std::size_t rows, std::mt19937_64& random) {
  Tensor order = torch::arange(signed_size(rows));
  auto* first = order.data_ptr<std::int64_t>();
  for (std::size_t k = rows; k > 1; --k) std::swap(first[k - 1], first[random() % k]);
  return order;
}

class AdamTraining {
 public:
  AdamTraining(const TorchProblem& problem, const double* start, const AdamOptions& options)
      : classes_(problem.classes),
        noise_(problem.noise_variance),
        batch_size_(signed_size(options.batch_size)),
        random_(options.seed),
        type_(options.single_precision ? torch::kFloat : torch::kDouble),
        data_(problem, options.prior_precision, type_),
        network_(problem, start, type_),
        optimizer_(optimizer(network_, options)) {
    if (options.held_out != nullptr) {
      held_out_ =
          matrix(options.held_out, options.held_out_rows, problem.layers.front().inputs, type_);
    }
  }

  void epoch() {
    if (batch_size_ == 0) return step(data_.inputs, data_.targets);
    const auto rows = static_cast<std::size_t>(data_.inputs.size(0));
    for (const Tensor& batch : shuffled(rows, random_).split(batch_size_)) {
      step(data_.inputs.index_select(0, batch), data_.targets.index_select(0, batch));
    }
  }

  double train_nll() const {
    const torch::NoGradGuard no_gradient;
    constexpr double two_pi = 6.283185307179586;
    const double constant = classes_ ? 0 : std::log(two_pi * noise_) / 2;
    return nll(data_.inputs, data_.targets).item<double>() + constant;
  }

  std::vector<double> weights() const { return network_.weights(); }

  void predict_held_out(std::vector<double>& predictions) const {
    if (!held_out_.defined()) return;
    const torch::NoGradGuard no_gradient;
    append(network_(held_out_), predictions);
  }

 private:
  // The mean loss, without the constant.
  Tensor nll(const Tensor& inputs, const Tensor& targets) const {
    if (classes_) return torch::cross_entropy_loss(network_(inputs), targets);
    return torch::mse_loss(network_(inputs), targets) / (2 * noise_);
  }

  void step(const Tensor& inputs, const Tensor& targets) {
    optimizer_->zero_grad();
    Tensor loss = nll(inputs, targets);
    if (!data_.precision.empty()) {
      loss = loss + network_.penalty(data_.precision) / data_.targets.numel();
    }
    loss.backward();
    optimizer_->step();
  }

  bool classes_;
  double noise_;
  std::int64_t batch_size_;
  std::mt19937_64 random_;
  torch::ScalarType type_;
  Data data_;
  Tensor held_out_;
  TorchNetwork network_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

bool finite(const std::vector<double>& values) {
  return std::isfinite(std::accumulate(values.begin(), values.end(), 0.0));
}

// Processor seconds of this thread, which does all the work: other programs do not count against Adam.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

AdamResult train_adam(const TorchProblem& problem, const double* start,
                      const AdamOptions& options) {
  using Clock = std::chrono::steady_clock;
  AdamTraining training(problem, start, options);
  AdamResult result;
  Clock::duration spent{};
  while (result.train_nll.size() < options.epochs && !result.diverged) {
    const auto begin = Clock::now();
    const double own_begin = thread_seconds();
    training.epoch();
    result.epoch_seconds.push_back(thread_seconds() - own_begin);
    spent += Clock::now() - begin;
    training.predict_held_out(result.held_out);
    result.train_nll.push_back(training.train_nll());
    result.diverged = !std::isfinite(result.train_nll.back()) || !finite(training.weights());
  }
  result.weights = training.weights();
  result.seconds_per_epoch =
      std::chrono::duration<double>(spent).count() / static_cast<double>(result.train_nll.size());
  return result;
}

std::vector<double> hessian_diagonal(const TorchProblem& problem, const double* weights,
                                     const std::vector<double>& prior_precision) {
  const Data data(problem, prior_precision);
  const TorchNetwork network(problem, weights);
  const Tensor loss =
      (network(data.inputs) - data.targets).square().sum() / (2 * problem.noise_variance) +
      network.penalty(data.precision);
  const auto gradients = torch::autograd::grad({loss}, network.parameters(), {}, true, true);
  std::vector<double> diagonal;
  for (std::size_t l = 0; l < gradients.size(); ++l) {
    const Tensor gradient = gradients[l].flatten();
    for (std::int64_t k = 0; k < gradient.numel(); ++k) {
      const auto row = torch::autograd::grad({gradient[k]}, {network.parameters()[l]}, {}, true);
      diagonal.push_back(row[0].flatten()[k].item<double>());
    }
  }
  return diagonal;
}

// The alternatives system gives every BLAS the same name, so the file behind it is resolved.
int find_blas(dl_phdr_info* library, std::size_t /*size*/, void* found) {
  const std::string name = library->dlpi_name;
  if (name.find("blas") == std::string::npos) return 0;
  char* const file = realpath(name.c_str(), nullptr);
  if (file == nullptr) return 0;
  *static_cast<std::string*>(found) = file;
  std::free(file);
  return 1;
}

std::string blas() {
  std::string file = "none";
  dl_iterate_phdr(find_blas, &file);
  return file;
}

}  // namespace
}  // namespace dma::baselines

// Experiments run their tasks in parallel, so each uses one thread.
const dma::baselines::TorchFunctions* dma_torch_functions() {
  at::set_num_threads(1);
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
  static const dma::baselines::TorchFunctions functions{
      dma::baselines::train_adam, dma::baselines::hessian_diagonal, dma::baselines::blas};
  return &functions;
}
