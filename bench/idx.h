// bench/idx.h: arrays of bytes in the IDX format (yann.lecun.com/exdb/mnist), plain or compressed by gzip.
//
//   0 0 8 d     two zeros, the type (8: unsigned bytes), the number of dimensions
//   d sizes     four bytes each, the most significant first
//   the bytes   the last dimension changes fastest
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dma::bench {

struct ByteArray {
  std::vector<std::size_t> sizes;  // of each dimension
  std::vector<std::uint8_t> bytes;
};

// Throws std::runtime_error with one line that names the file if it cannot be read, is no such array, or does not have as
// many bytes as its sizes say.
ByteArray read_idx(const std::string& path);

}  // namespace dma::bench
