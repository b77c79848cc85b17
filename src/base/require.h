// base/require.h: throws unless a condition holds.
#pragma once

#include <string>

#include <dma/base/error.h>

namespace dma::detail {

inline void require(bool condition, const std::string& what) {
  if (!condition) throw NetworkError(what);
}

}  // namespace dma::detail
