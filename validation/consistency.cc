#include "validation/experiment.h"

namespace dma::validation {

nlohmann::json consistency() { return {{"settings", {}}, {"summary", {}}, {"rows", {}}}; }

}  // namespace dma::validation
