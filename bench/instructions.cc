// dma_instructions small|deep float|double EPOCHS: a fit of one of the paper's networks and nothing else, for
// callgrind to count (bench/instructions.py). It uses the instruction set that Valgrind knows, whatever the machine
// has.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/networks.h"
#include "kernels/on_instruction_set.h"

namespace dma::bench {
namespace {

#if HWY_ARCH_ARM
constexpr std::int64_t wanted_set = HWY_NEON;
#else
constexpr std::int64_t wanted_set = HWY_AVX2;
#endif

// The best instruction set if the wanted one is missing.
std::int64_t countable_set() {
  for (const std::int64_t set : kernels::instruction_sets()) {
    if (set == wanted_set) return set;
  }
  return kernels::instruction_sets().front();
}

template <class T>
double fit(const Network& network, std::size_t epochs) {
  auto fitted = belief<T>(network, {{.max_epochs = epochs, .tolerance = 0}, {}});
  return fitted.fit().train_nll.back();
}

int run(const std::string& which, const std::string& number, std::size_t epochs) {
  const kernels::OnInstructionSet chosen(countable_set());
  const Network network = which == "small" ? small_network() : deep_network();
  const double nll = number == "float" ? fit<float>(network, epochs) : fit<double>(network, epochs);
  std::printf("%s %.6f\n", network.name.c_str(), nll);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace dma::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: dma_instructions small|deep float|double EPOCHS\n", stderr);
    return 2;
  }
  return dma::bench::run(argv[1], argv[2], std::stoul(argv[3]));
}
