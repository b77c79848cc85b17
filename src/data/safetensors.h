// data/safetensors.h: files in the safetensors layout, with a checksum.
//
//   8 bytes   length of the header, little-endian
//   header    {"__metadata__": {"checksum": "xxxxxxxx", ...}, "name": {"dtype", "shape", "data_offsets"}, ...}
//   data      the arrays, little-endian, one after the other without a gap
//
// The checksum is the CRC-32 of the whole file with its own eight digits taken as zeros. It comes first in the header,
// so that a damaged file is refused before anything else in it is trusted.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dma/base/arrays.h>

namespace dma::detail {

enum class NumberType { f32, f64, u64 };

template <class T>
constexpr NumberType number_type() {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  if constexpr (std::is_same_v<T, float>) return NumberType::f32;
  if constexpr (std::is_same_v<T, double>) return NumberType::f64;
  return NumberType::u64;
}

struct TensorInfo {
  NumberType type;
  std::vector<std::size_t> shape;

  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

// An array that may be in pieces, which are consecutive in the file.
struct Tensor {
  std::string name;
  TensorInfo info;
  std::vector<std::span<const std::byte>> pieces;
};

// Tensors of the arrays, named with the prefix; the numbers must outlive them.
std::vector<Tensor> tensors_of(const Arrays& arrays, const std::string& prefix);

using Metadata = std::vector<std::pair<std::string, std::string>>;

// Takes out tensors that are the same as an earlier one, unless they are small, and says which for the metadata's "copies": {"name": "of", ...}.
// Those of one file have at most so many bytes together: what a small file can ask for is limited.
inline constexpr std::size_t most_copied_bytes = std::size_t{256} << 20;
std::string take_copies(std::vector<Tensor>& tensors);

// Throws FileError.
void write_safetensors(const std::filesystem::path& path, const Metadata& metadata,
                       std::span<const Tensor> tensors);
// The same bytes, in memory.
std::vector<std::byte> safetensors_bytes(const Metadata& metadata, std::span<const Tensor> tensors);

class SafetensorsFile {
 public:
  // Opens and checks the whole file. Throws ModelError with the reason.
  explicit SafetensorsFile(const std::filesystem::path& path);
  // Reads a file's bytes, which must outlive it.
  SafetensorsFile(std::string name, std::span<const std::byte> bytes);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  // Empty if there is no such entry.
  std::string metadata(const std::string& key) const;
  // Throws ModelError if there is no array with this name, type and shape.
  template <class T>
  std::vector<T> read(const std::string& name, const std::vector<std::size_t>& shape) const;
  // All arrays whose name has the prefix, without the prefix.
  Arrays read_arrays(const std::string& prefix) const;
  const std::vector<std::size_t>& shape(const std::string& name) const;
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  struct Entry {
    TensorInfo info;
    std::size_t begin, end;  // in the file
  };

  void check();
  std::uint64_t read_header(std::string& header) const;
  void check_sum() const;
  void parse(const std::string& header, std::size_t data_begin);
  void check_places(std::size_t data_begin) const;
  void add_copies();
  const Entry& entry(const std::string& name) const;
  void read_bytes(std::size_t offset, std::span<std::byte> bytes) const;

  std::string name_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;  // if it is a file
  std::span<const std::byte> memory_ = {};
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Entry> entries_;
};

// Turns numbers of this size from the machine's byte order into little-endian, or back.
void swap_unless_little(std::span<std::byte> bytes, std::size_t number_size,
                        std::endian machine = std::endian::native);

}  // namespace dma::detail
