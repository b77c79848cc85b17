// What it costs to report how far a fit can be trusted: the certificate at its end, and scoring every example while its
// batch is out of the belief.
#include <fmt/core.h>

#include "bench/networks.h"
#include "bench/sections.h"

namespace dma::bench {
namespace {

Options options_of(std::size_t epochs, bool certificate, bool cavity_score) {
  return {{.max_epochs = epochs, .tolerance = 0},
          {.certificate = certificate, .cavity_score = cavity_score}};
}

void add_fit(Plan& plan, const std::string& name, const Network& network, const Options& options) {
  plan.measure({.name = name,
                .unit = "s per fit",
                .scale = 1,
                .run =
                    [&network, options](benchmark::State& state) {
                      for (auto _ : state) {
                        state.PauseTiming();
                        auto fitted = belief<float>(network, options);
                        state.ResumeTiming();
                        benchmark::DoNotOptimize(fitted.fit().epochs);
                      }
                    },
                .repetitions = plan.quick ? 3 : 7});
}

void add_case(Plan& plan, const Network& network, std::size_t epochs) {
  const auto name = [&](const char* what) {
    return fmt::format("honesty/{}/{}", network.name, what);
  };
  add_fit(plan, name("both"), network, options_of(epochs, true, true));
  add_fit(plan, name("neither"), network, options_of(epochs, false, false));
  add_fit(plan, name("certificate only"), network, options_of(epochs, true, false));
  add_fit(plan, name("cavity score only"), network, options_of(epochs, false, true));
  for (const char* what : {"both", "certificate only", "cavity score only"}) {
    plan.quotient(name((std::string(what) + " over neither").c_str()), name(what), name("neither"),
                  Better::smaller, at_most(1.03));
  }
}

}  // namespace

// Forty epochs, the default of dma fit.
void add_honesty(Plan& plan) {
  static const std::vector<Network> networks{small_network(), table_network(),
                                             network({8, 100, 100, 1}, 500)};
  add_case(plan, networks[0], 40);
  add_case(plan, networks[1], 40);
  if (!plan.quick) add_case(plan, networks[2], 40);
}

}  // namespace dma::bench
