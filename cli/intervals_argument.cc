#include "cli/intervals_argument.h"

namespace dma::cli {

void add_intervals_option(Command command, Intervals& intervals) {
  command
      .choice<Intervals>("--intervals", intervals,
                         {{"model", Intervals::model}, {"calibrated", Intervals::calibrated}},
                         "calibrated: as wide as they have to be by rows that were not learnt "
                         "(docs/tables.md); model (default): as the model says")
      .text("HOW");
}

}  // namespace dma::cli
