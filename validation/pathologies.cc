#include "validation/experiment.h"

namespace dma::validation {

nlohmann::json pathologies() { return {{"settings", {}}, {"summary", {}}, {"rows", {}}}; }

}  // namespace dma::validation
