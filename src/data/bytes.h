// data/bytes.h: the bytes of a file or of standard input, decompressed if they are gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace dma::csv {

class ByteSource {
 public:
  // Reads at most `block` bytes of the file at a time.
  ByteSource(const std::filesystem::path& path, std::size_t block);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Returns how many bytes were written, at most `size`; 0 only at the end.
  std::size_t read(char* into, std::size_t size);
  // Whether it can be read again from the beginning: a pipe cannot.
  bool can_rewind() const { return size_ > 0; }
  void rewind();
  // How much of the file has been read; 0 if its size is unknown.
  double share() const {
    return size_ == 0 ? 0 : static_cast<double>(taken_) / static_cast<double>(size_);
  }

  const std::string& name() const { return name_; }
  // Estimate of the bytes that read() will return in all, from those so far; 0: unknown.
  double expected_bytes() const;

 private:
  struct Inflater;

  void open(const std::filesystem::path& path);
  void begin();
  std::size_t read_file(char* into, std::size_t size);
  bool fill_input();
  std::size_t read_plain(char* into, std::size_t size);
  std::size_t read_compressed(char* into, std::size_t size);
  bool at_member();
  void inflate_some();

  std::string name_;
  int file_ = -1;
  std::uint64_t size_ = 0;   // of the file; 0 if it is not a regular one
  std::uint64_t taken_ = 0;  // of the file's bytes
  std::uint64_t given_ = 0;  // by read()
  std::vector<char> input_;  // the first bytes, later what is to be decompressed
  std::size_t input_begin_ = 0;
  std::size_t input_end_ = 0;
  std::unique_ptr<Inflater> inflater_;  // null: plain
};

}  // namespace dma::csv
