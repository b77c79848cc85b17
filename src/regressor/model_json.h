// regressor/model_json.h: parts of a model as JSON text.
#pragma once

#include <string>

#include <dma/regressor/model.h>

namespace dma::detail {

// All that has an influence on a fit but the table: not the number of threads.
std::string options_json(const RegressorOptions& options);

}  // namespace dma::detail
