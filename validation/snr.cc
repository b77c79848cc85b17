#include "validation/experiment.h"

namespace dma::validation {

nlohmann::json snr() { return {{"settings", {}}, {"summary", {}}, {"rows", {}}}; }

}  // namespace dma::validation
