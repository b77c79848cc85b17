#include "validation/experiment.h"

namespace dma::validation {

nlohmann::json product() { return {{"settings", {}}, {"summary", {}}, {"rows", {}}}; }

}  // namespace dma::validation
