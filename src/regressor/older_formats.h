// regressor/older_formats.h: what the description of a model in an older format lacks (model_file.h lists it).
#pragma once

#include "data/strict_json.h"

namespace dma::detail {

// Makes the description of a model of this format one of the newest, but for the members of formats 2 to 10. What is not
// known is null or NaN. A description that lacks what its format has throws nlohmann::json's errors.
void complete(StrictJson& model, int version);

}  // namespace dma::detail
