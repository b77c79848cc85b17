#include "validation/experiment.h"

namespace dma::validation {

nlohmann::json tightness() { return {{"settings", {}}, {"summary", {}}, {"rows", {}}}; }

}  // namespace dma::validation
