#include "cli/unlike.h"

#include <fmt/core.h>

#include <algorithm>

namespace dma::cli {
namespace {

std::string cells_text(std::size_t cells, const char* one, const char* several) {
  return cells == 1 ? fmt::format("1 cell {}", one) : fmt::format("{} cells {}", cells, several);
}

std::string line_of(const UnseenCells& unlike) {
  const char* first = unlike.cells == 1 ? " in" : ", the first in";
  switch (unlike.what) {
    case UnseenCells::What::value:
      return fmt::format("{} '{}'{} {}", cells_text(unlike.cells, "is new:", "are new:"),
                         unlike.example, first, unlike.place);
    case UnseenCells::What::empty:
      return fmt::format("{} (none was in training){} {}",
                         cells_text(unlike.cells, "is empty", "are empty"), first, unlike.place);
    case UnseenCells::What::spelling:
      return fmt::format("{} as '{}': '{}'{} {}", cells_text(unlike.cells, "counts", "count"),
                         unlike.known, unlike.example, first, unlike.place);
  }
  return "";
}

}  // namespace

void say_unlike(const std::vector<UnseenCells>& unlike, const std::string& source,
                const char* done) {
  if (unlike.empty()) return;
  const bool any_unseen = std::any_of(unlike.begin(), unlike.end(), [](const UnseenCells& one) {
    return one.what != UnseenCells::What::spelling;
  });
  fmt::print(stderr, "{}: cells unlike those of training{}{}\n", source, any_unseen ? "; " : "",
             any_unseen ? done : "");
  for (const UnseenCells& one : unlike) {
    fmt::print(stderr, "  {:<18} {}\n", one.column, line_of(one));
  }
}

nlohmann::ordered_json unlike_json(const std::vector<UnseenCells>& unlike) {
  auto list = nlohmann::ordered_json::array();
  for (const UnseenCells& one : unlike) {
    list.push_back({{"column", one.column},
                    {"what", name_of(one.what)},
                    {"cells", one.cells},
                    {"example", one.example},
                    {"known", one.known},
                    {"place", one.place}});
  }
  return list;
}

}  // namespace dma::cli
