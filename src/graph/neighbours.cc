#include <algorithm>
#include <utility>

#include <dma/graph/kinds.h>

namespace dma::detail {

Neighbours::Neighbours(const FactorTable& table, std::size_t variables, bool of_all)
    : table_(&table), of_all_(of_all) {
  std::vector<std::uint32_t> degree(variables);
  table.for_each([&](std::uint32_t, const FactorView& factor) {
    for (const std::uint32_t variable : factor.variables) {
      if (!is_known(variable)) ++degree[variable];
    }
  });
  const bool some = std::any_of(degree.begin(), degree.end(),
                                [](std::uint32_t count) { return count > hub_degree; });
  if (some) {
    hub_.resize(variables);
    for (std::size_t v = 0; v < variables; ++v) hub_[v] = degree[v] > hub_degree ? 1 : 0;
  }
  others_ =
      list([&](std::uint32_t variable) { return of_all_ || !is_hub(variable); }, std::move(degree));
}

// Ascending within a variable.
template <class Listed>
Neighbours::Lists Neighbours::list(const Listed& listed, std::vector<std::uint32_t> degree) const {
  Lists lists{std::vector<std::uint32_t>(degree.size() + 1), {}};
  for (std::uint32_t v = 0; v < degree.size(); ++v)
    lists.begin[v + 1] = lists.begin[v] + (listed(v) ? degree[v] : 0);
  lists.messages.resize(lists.begin.back());
  auto next = std::move(degree);
  std::copy(lists.begin.begin(), lists.begin.end() - 1, next.begin());
  table_->for_each([&](std::uint32_t, const FactorView& factor) {
    for (std::size_t k = 0; k < factor.variables.size(); ++k) {
      const std::uint32_t variable = factor.variables[k];
      if (is_known(variable) || !listed(variable)) continue;
      lists.messages[next[variable]++] = factor.message + factor.places[k];
    }
  });
  return lists;
}

const Neighbours::Lists& Neighbours::of_hubs() const {
  std::call_once(hubs_listed_, [&] {
    std::vector<std::uint32_t> degree(hub_.size());
    table_->for_each([&](std::uint32_t, const FactorView& factor) {
      for (const std::uint32_t variable : factor.variables) {
        if (!is_known(variable) && is_hub(variable)) ++degree[variable];
      }
    });
    hubs_ = list([&](std::uint32_t variable) { return is_hub(variable); }, std::move(degree));
  });
  return hubs_;
}

}  // namespace dma::detail
