#include "bench/idx.h"

#include <zlib.h>

#include <array>
#include <memory>
#include <stdexcept>

namespace dma::bench {
namespace {

using File = std::unique_ptr<gzFile_s, int (*)(gzFile)>;

constexpr std::uint8_t unsigned_bytes = 8;
constexpr std::size_t most_bytes = std::size_t{1} << 30U;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw std::runtime_error(path + ": " + why);
}

// Returns how many there were, `count` at most.
std::size_t read(const File& file, const std::string& path, std::uint8_t* to, std::size_t count) {
  const int got = gzread(file.get(), to, static_cast<unsigned>(count));
  int status = Z_OK;
  const char* message = gzerror(file.get(), &status);
  if (status == Z_BUF_ERROR) fail(path, "the compressed data end too early");
  if (got < 0 || (status != Z_OK && status != Z_STREAM_END)) fail(path, message);
  return static_cast<std::size_t>(got);
}

std::size_t read_size(const File& file, const std::string& path) {
  std::array<std::uint8_t, 4> bytes{};
  if (read(file, path, bytes.data(), bytes.size()) != bytes.size()) {
    fail(path, "ends within the sizes of its dimensions");
  }
  std::size_t size = 0;
  for (const std::uint8_t byte : bytes) size = 256 * size + byte;
  return size;
}

// The product of the sizes.
std::size_t count_of(const std::vector<std::size_t>& sizes, const std::string& path) {
  std::size_t count = 1;
  for (const std::size_t size : sizes) {
    if (size > most_bytes / count) fail(path, "its sizes make more than 2^30 bytes");
    count *= size;
    if (count == 0) fail(path, "a dimension has size 0");
  }
  return count;
}

}  // namespace

ByteArray read_idx(const std::string& path) {
  const File file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) fail(path, "cannot be opened");
  std::array<std::uint8_t, 4> magic{};
  const std::size_t got = read(file, path, magic.data(), magic.size());
  if (got != magic.size() || magic[0] != 0 || magic[1] != 0 || magic[2] != unsigned_bytes ||
      magic[3] == 0) {
    fail(path, "is no IDX file of unsigned bytes");
  }
  ByteArray array;
  for (std::size_t d = 0; d < magic[3]; ++d) array.sizes.push_back(read_size(file, path));
  const std::size_t count = count_of(array.sizes, path);
  array.bytes.resize(count + 1);  // one more, to see whether there is more
  const std::size_t found = read(file, path, array.bytes.data(), array.bytes.size());
  if (found != count) {
    fail(path, found < count ? "has " + std::to_string(found) + " bytes where its sizes say " +
                                   std::to_string(count)
                             : "has more bytes than its sizes say, " + std::to_string(count));
  }
  array.bytes.pop_back();
  return array;
}

}  // namespace dma::bench
