#include "data/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>

#include <nlohmann/json.hpp>

#include <dma/base/error.h>
#include <dma/data/atomic_file.h>

#include "data/message.h"
#include "data/strict_json.h"

namespace dma::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view before_checksum = R"({"__metadata__":{"checksum":")";
constexpr std::size_t length_bytes = 8;
constexpr std::size_t checksum_offset = length_bytes + before_checksum.size();
constexpr std::string_view no_checksum = "00000000";
constexpr std::size_t piece_bytes = 1 << 20;
constexpr int deepest = 3;  // header, array, its shape

std::size_t bytes_of(NumberType type) { return type == NumberType::f32 ? 4 : 8; }

const char* text_of(NumberType type) {
  constexpr std::array names{"F32", "F64", "U64"};
  return names[static_cast<std::size_t>(type)];
}

std::size_t count_of(const std::vector<std::size_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

// Counts the bytes of an untrusted shape; false if the count overflows.
bool count_bytes(const TensorInfo& info, std::size_t& bytes) {
  bytes = bytes_of(info.type);
  return std::none_of(info.shape.begin(), info.shape.end(), [&](std::size_t length) {
    return __builtin_mul_overflow(bytes, length, &bytes);
  });
}

std::array<std::byte, length_bytes> little_endian(std::uint64_t value) {
  std::array<std::byte, length_bytes> bytes{};
  for (std::size_t k = 0; k < length_bytes; ++k) bytes[k] = std::byte(value >> (8 * k) & 0xff);
  return bytes;
}

std::string hex(std::uint32_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(8, '0');
  for (std::size_t k = 0; k < 8; ++k) text[7 - k] = digits[value >> (4 * k) & 15];
  return text;
}

class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    sum_ = crc32_z(sum_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }
  std::string text() const { return hex(static_cast<std::uint32_t>(sum_)); }

 private:
  uLong sum_ = crc32_z(0, nullptr, 0);
};

std::string header_of(const Metadata& metadata, std::span<const Tensor> tensors) {
  Json header;
  header["__metadata__"]["checksum"] = no_checksum;
  for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  std::size_t offset = 0;
  for (const Tensor& tensor : tensors) {
    const std::size_t end = offset + count_of(tensor.info.shape) * bytes_of(tensor.info.type);
    header[tensor.name] = {{"dtype", text_of(tensor.info.type)},
                           {"shape", tensor.info.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  // The layout requires aligned data, and allows spaces after the header for that.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

// Passes on the data as in the file.
template <class Take>
void each_piece(std::span<const Tensor> tensors, const Take& take) {
  std::vector<std::byte> copy;
  for (const Tensor& tensor : tensors) {
    for (std::span<const std::byte> rest : tensor.pieces) {
      while (!rest.empty()) {
        const auto piece = rest.first(std::min(rest.size(), piece_bytes));
        copy.assign(piece.begin(), piece.end());
        swap_unless_little(copy, bytes_of(tensor.info.type));
        take(std::span<const std::byte>(copy));
        rest = rest.subspan(piece.size());
      }
    }
  }
}

// Passes on the whole file, piece by piece.
template <class Take>
void each_part(const Metadata& metadata, std::span<const Tensor> tensors, const Take& take) {
  std::string header = header_of(metadata, tensors);
  const auto length = little_endian(header.size());
  Checksum sum;
  sum.add(length);
  sum.add(std::as_bytes(std::span(header)));
  each_piece(tensors, [&](auto piece) { sum.add(piece); });
  header.replace(before_checksum.size(), no_checksum.size(), sum.text());
  take(std::span<const std::byte>(length));
  take(std::as_bytes(std::span(header)));
  each_piece(tensors, take);
}

}  // namespace

void swap_unless_little(std::span<std::byte> bytes, std::size_t number_size, std::endian machine) {
  if (machine == std::endian::little) return;
  for (std::size_t k = 0; k + number_size <= bytes.size(); k += number_size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(k),
                 bytes.begin() + static_cast<std::ptrdiff_t>(k + number_size));
  }
}

void write_safetensors(const std::filesystem::path& path, const Metadata& metadata,
                       std::span<const Tensor> tensors) {
  AtomicFile file(path);
  each_part(metadata, tensors, [&](std::span<const std::byte> part) { file.write(part); });
  file.commit();
}

std::vector<std::byte> safetensors_bytes(const Metadata& metadata,
                                         std::span<const Tensor> tensors) {
  std::vector<std::byte> bytes;
  each_part(metadata, tensors, [&](std::span<const std::byte> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  });
  return bytes;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : name_(path.string()) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot be opened: " + std::generic_category().message(errno));
  try {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail("cannot be examined");
    if (S_ISDIR(status.st_mode)) fail("is a directory, not a model file");
    if (!S_ISREG(status.st_mode)) fail("is not a regular file");
    size_ = static_cast<std::uint64_t>(status.st_size);
    check();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

SafetensorsFile::SafetensorsFile(std::string name, std::span<const std::byte> bytes)
    : name_(std::move(name)), size_(bytes.size()), memory_(bytes) {
  check();
}

SafetensorsFile::~SafetensorsFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SafetensorsFile::fail(const std::string& reason) const {
  throw ModelError(name_ + ": " + reason);
}

void SafetensorsFile::check() {
  std::string header;
  const std::uint64_t data_begin = read_header(header);
  check_sum();
  parse(header, data_begin);
}

void SafetensorsFile::read_bytes(std::size_t offset, std::span<std::byte> bytes) const {
  if (descriptor_ < 0) {
    if (offset + bytes.size() > memory_.size()) fail("is cut short");
    std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
    return;
  }
  while (!bytes.empty()) {
    const ssize_t got =
        ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot be read: " + std::generic_category().message(errno));
    if (got == 0) fail("ends at byte " + std::to_string(offset) + ": it is cut short");
    offset += static_cast<std::size_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

// Returns where the data begins.
std::uint64_t SafetensorsFile::read_header(std::string& header) const {
  if (size_ < checksum_offset + no_checksum.size()) {
    fail("is not a dma model: only " + std::to_string(size_) + " bytes");
  }
  std::array<std::byte, length_bytes> bytes{};
  read_bytes(0, bytes);
  std::uint64_t length = 0;
  for (std::size_t k = 0; k < length_bytes; ++k) length |= std::uint64_t(bytes[k]) << (8 * k);
  std::string start(before_checksum.size(), '\0');
  read_bytes(length_bytes, std::as_writable_bytes(std::span(start)));
  if (start != before_checksum) fail("is not a dma model: its header does not start at byte 8");
  if (length > size_ - length_bytes) {
    fail("is cut short or damaged: bytes 0 to 7 announce a header of " + std::to_string(length) +
         " bytes, but the file has " + std::to_string(size_));
  }
  header.resize(length);
  read_bytes(length_bytes, std::as_writable_bytes(std::span(header)));
  return length_bytes + length;
}

void SafetensorsFile::check_sum() const {
  Checksum sum;
  std::string said(no_checksum.size(), '\0');
  read_bytes(checksum_offset, std::as_writable_bytes(std::span(said)));
  std::vector<std::byte> piece;
  for (std::uint64_t offset = 0; offset < size_; offset += piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece_bytes, size_ - offset));
    read_bytes(offset, piece);
    if (offset == 0) std::memcpy(piece.data() + checksum_offset, no_checksum.data(), 8);
    sum.add(piece);
  }
  if (sum.text() != said) {
    fail("is damaged: its checksum is " + sum.text() + ", byte " + std::to_string(checksum_offset) +
         " says " + csv::escaped(said));
  }
}

void SafetensorsFile::parse(const std::string& header, std::size_t data_begin) {
  try {
    const StrictJson parsed = parse_json(header, deepest);
    for (const auto& [name, value] : parsed.items()) {
      if (name == "__metadata__") {
        metadata_ = value.get<std::map<std::string, std::string>>();
        continue;
      }
      Entry entry{{NumberType::f64, value.at("shape").get<std::vector<std::size_t>>()}, 0, 0};
      const auto type = value.at("dtype").get<std::string>();
      for (const NumberType candidate : {NumberType::f32, NumberType::f64, NumberType::u64}) {
        if (type == text_of(candidate)) entry.info.type = candidate;
      }
      const auto offsets = value.at("data_offsets").get<std::array<std::size_t, 2>>();
      const std::size_t room = size_ - data_begin;
      std::size_t bytes = 0;
      if (type != text_of(entry.info.type) || !count_bytes(entry.info, bytes) ||
          offsets[0] > offsets[1] || offsets[1] > room || offsets[1] - offsets[0] != bytes) {
        fail("array " + csv::shown(name) +
             " does not fit the file: its type, shape or place is wrong");
      }
      entry.begin = data_begin + offsets[0];
      entry.end = data_begin + offsets[1];
      entries_.emplace(name, std::move(entry));
    }
    check_places(data_begin);
    add_copies();
  } catch (const NotMeant& error) {
    fail(std::string("its header cannot be read: ") + error.what());
  } catch (const StrictJson::exception& error) {
    fail(std::string("its header cannot be read: ") + error.what());
  }
}

void SafetensorsFile::add_copies() {
  if (!metadata_.contains("copies")) return;
  const StrictJson copies = parse_json(metadata_.at("copies"), 1);
  std::size_t bytes = 0;
  for (const auto& [name, of] : copies.items()) {
    const Entry original = entry(of.get<std::string>());
    bytes += original.end - original.begin;
    if (bytes > most_copied_bytes || !entries_.emplace(name, original).second) {
      fail("array " + csv::shown(name) + " cannot be a copy of another");
    }
  }
}

// If arrays could overlap, a small file could ask for any amount of memory.
void SafetensorsFile::check_places(std::size_t data_begin) const {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const auto& [name, entry] : entries_) places.emplace_back(entry.begin, entry.end);
  std::sort(places.begin(), places.end());
  std::size_t end = data_begin;
  for (const auto& place : places) {
    if (place.first != end) fail("its arrays overlap or leave gaps");
    end = place.second;
  }
  if (end != size_) fail("has bytes that belong to no array");
}

std::string SafetensorsFile::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? std::string() : found->second;
}

const SafetensorsFile::Entry& SafetensorsFile::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) fail("has no array '" + name + "'");
  return found->second;
}

Arrays SafetensorsFile::read_arrays(const std::string& prefix) const {
  Arrays arrays(prefix);
  for (auto next = entries_.lower_bound(prefix);
       next != entries_.end() && next->first.starts_with(prefix); ++next) {
    const auto& [name, entry] = *next;
    const std::string own = name.substr(prefix.size());
    const auto& shape = entry.info.shape;
    switch (entry.info.type) {
      case NumberType::f32:
        arrays.put(own, read<float>(name, shape), shape);
        break;
      case NumberType::f64:
        arrays.put(own, read<double>(name, shape), shape);
        break;
      case NumberType::u64:
        arrays.put(own, read<std::uint64_t>(name, shape), shape);
        break;
    }
  }
  return arrays;
}

const std::vector<std::size_t>& SafetensorsFile::shape(const std::string& name) const {
  return entry(name).info.shape;
}

template <class T>
std::vector<T> SafetensorsFile::read(const std::string& name,
                                     const std::vector<std::size_t>& shape) const {
  const Entry& found = entry(name);
  if (found.info != TensorInfo{number_type<T>(), shape}) {
    fail("array '" + name + "' does not have the type or shape that the model needs");
  }
  std::vector<T> numbers(count_of(shape));
  const auto bytes = std::as_writable_bytes(std::span(numbers));
  read_bytes(found.begin, bytes);
  swap_unless_little(bytes, sizeof(T));
  return numbers;
}

template std::vector<float> SafetensorsFile::read(const std::string&,
                                                  const std::vector<std::size_t>&) const;
template std::vector<double> SafetensorsFile::read(const std::string&,
                                                   const std::vector<std::size_t>&) const;
template std::vector<std::uint64_t> SafetensorsFile::read(const std::string&,
                                                          const std::vector<std::size_t>&) const;

namespace {

std::size_t bytes_of(const Tensor& tensor) {
  return count_of(tensor.info.shape) * bytes_of(tensor.info.type);
}

std::string checksum_of(const Tensor& tensor) {
  Checksum sum;
  for (const auto& piece : tensor.pieces) sum.add(piece);
  return sum.text();
}

// Of tensors in one piece.
bool same_numbers(const Tensor& a, const Tensor& b) {
  return a.info == b.info && a.pieces.size() == 1 && b.pieces.size() == 1 &&
         std::equal(a.pieces[0].begin(), a.pieces[0].end(), b.pieces[0].begin(), b.pieces[0].end());
}

}  // namespace

std::string take_copies(std::vector<Tensor>& tensors) {
  constexpr std::size_t least_bytes = 256;  // otherwise the names are as long
  Json copies = Json::object();
  std::vector<Tensor> kept;
  std::multimap<std::string, std::size_t> places;
  std::size_t bytes = 0;
  for (Tensor& tensor : tensors) {
    const auto [first, last] = places.equal_range(checksum_of(tensor));
    const auto same = std::find_if(
        first, last, [&](const auto& place) { return same_numbers(kept[place.second], tensor); });
    const bool fits = bytes + bytes_of(tensor) <= most_copied_bytes;
    if (same != last && fits && bytes_of(tensor) >= least_bytes) {
      bytes += bytes_of(tensor);
      copies[tensor.name] = kept[same->second].name;
    } else {
      places.emplace(checksum_of(tensor), kept.size());
      kept.push_back(std::move(tensor));
    }
  }
  tensors = std::move(kept);
  return copies.dump();
}

std::vector<Tensor> tensors_of(const Arrays& arrays, const std::string& prefix) {
  std::vector<Tensor> tensors;
  for (const auto& named : arrays) {
    const Array& array = named.second;
    const auto lay_out = [&]<class T>(const std::vector<T>& numbers) -> Tensor {
      return {prefix + named.first,
              {number_type<T>(), array.shape},
              {std::as_bytes(std::span(numbers))}};
    };
    tensors.push_back(std::visit(lay_out, array.numbers));
  }
  return tensors;
}

}  // namespace dma::detail
