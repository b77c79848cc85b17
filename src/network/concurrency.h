// network/concurrency.h: how many threads to use when asked for so many.
#pragma once

#include <tbb/info.h>

#include <algorithm>
#include <cstddef>

namespace dma::detail {

// 0 means all cores; more than there are is no use.
inline int concurrency(std::size_t threads) {
  const auto cores = static_cast<std::size_t>(tbb::info::default_concurrency());
  return static_cast<int>(threads == 0 ? cores : std::min(threads, cores));
}

}  // namespace dma::detail
