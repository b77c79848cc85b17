#include "belief/training.h"

#include <array>
#include <string>

#include "base/require.h"

namespace dma {

std::string_view name_of(Stopped stopped) {
  constexpr std::array<std::string_view, 5> names{"tolerance", "patience", "max_epochs",
                                                  "interrupted", "time"};
  return names[static_cast<std::size_t>(stopped)];
}

std::size_t ledger_bytes(LedgerMode mode, std::size_t batches, std::size_t weights,
                         std::size_t number_bytes) {
  return mode == LedgerMode::full ? 2 * batches * weights * number_bytes : 0;
}

void detail::validate(const TrainingOptions& options) {
  require(options.batch_size > 0, "batch_size is 0");
  require(options.tolerance >= 0,
          "tolerance must not be negative, got " + std::to_string(options.tolerance));
  require(options.likelihood != nullptr, "there is no likelihood");
}

void detail::require_share(double share) {
  require(share > 0 && share < 1,
          "the share of a batch that stays must be between 0 and 1, got " + std::to_string(share));
}

std::unique_ptr<Likelihood> detail::likelihood_with(const Likelihood& learnt,
                                                    const TrainingOptions& options,
                                                    std::size_t outputs) {
  auto likelihood = options.likelihood->for_outputs(outputs);
  Arrays parameters;
  learnt.store(parameters);
  likelihood->restore(parameters);
  return likelihood;
}

}  // namespace dma
