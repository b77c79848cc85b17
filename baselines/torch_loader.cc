#include "baselines/torch_baselines.h"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

namespace dma::baselines {
namespace {

constexpr const char* module_name = "dma_torch.so";

// The module is beside the program or above a test. It is loaded by path, because under the address sanitizer dlopen
// ignores RPATH.
void* open_module() {
  std::error_code none;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  for (const auto* place : {".", ".."}) {
    if (void* module = dlopen((folder / place / module_name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return module;
    }
  }
  return nullptr;
}

const TorchFunctions* load() {
  void* module = open_module();
  if (module == nullptr) return nullptr;
  using Entry = const TorchFunctions* (*)();
  return reinterpret_cast<Entry>(dlsym(module, "dma_torch_functions"))();
}

const TorchFunctions* functions() {
  static const TorchFunctions* const loaded = load();
  return loaded;
}

const TorchFunctions& needed_functions() {
  if (functions() == nullptr) {
    throw std::runtime_error("this experiment needs libtorch: ./dev reproduce installs it");
  }
  return *functions();
}

TorchProblem for_module(const Problem& problem) {
  TorchProblem result{{},           problem.inputs.data(),  problem.targets.data(),
                      problem.rows, problem.noise_variance, problem.classes};
  const Architecture& network = problem.network;
  for (std::size_t l = 0; l < network.layers(); ++l) {
    const double slope = l + 1 < network.layers() ? network.slope(l) : 1;
    const Dense layer = network.layer(l);
    result.layers.push_back({layer.units, network.widths[l], layer.bias, slope});
  }
  return result;
}

}  // namespace

bool torch_available() { return functions() != nullptr; }

std::string torch_blas() { return needed_functions().blas(); }

AdamResult train_adam(const Problem& problem, std::span<const double> start,
                      const AdamOptions& options) {
  return needed_functions().train_adam(for_module(problem), start.data(), options);
}

std::vector<double> hessian_diagonal(const Problem& problem, std::span<const double> weights,
                                     std::span<const double> prior_precision) {
  return needed_functions().hessian_diagonal(for_module(problem), weights.data(),
                                             {prior_precision.begin(), prior_precision.end()});
}

}  // namespace dma::baselines
