// cli/unlike.h: cells that are not as in training, said.
#pragma once

#include <dma/data/encoder.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace dma::cli {

// On standard error, if there are any; `done` says what was done with the rows.
inline constexpr const char* predicted_as_any =
    "such a row is predicted as if the cell could be any value of training";
inline constexpr const char* learnt_as_other =
    "new values are learnt together as others, empty cells as average ones";
void say_unlike(const std::vector<UnseenCells>& unlike, const std::string& source,
                const char* done);
nlohmann::ordered_json unlike_json(const std::vector<UnseenCells>& unlike);

}  // namespace dma::cli
