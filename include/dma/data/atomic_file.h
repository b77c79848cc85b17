// data/atomic_file.h: writes a file so that at any moment either the old or the new one is there, complete.
//
// The bytes go to a temporary file in the same folder, without a name if the file system allows that; commit() flushes
// it to the disk and renames it. Without commit() nothing changes. A path that is not a regular file (a pipe,
// /dev/null) is written to
// directly.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dma {

struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  [[noreturn]] void fail(const std::string& doing) const;
  bool open_nameless(unsigned mode);
  void open_partial(unsigned mode);
  void give_name();
  void remove_leftovers() const;
  std::filesystem::path folder() const;
  void flush();
  void write_out(const std::byte* bytes, std::size_t count);

  std::filesystem::path path_;
  std::filesystem::path partial_;  // empty: has no name, or is written to directly
  bool direct_ = false;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

}  // namespace dma
