#include "validation/experiment.h"

namespace dma::validation {

nlohmann::json relu() { return {{"settings", {}}, {"summary", {}}, {"rows", {}}}; }

}  // namespace dma::validation
