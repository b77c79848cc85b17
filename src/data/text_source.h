// data/text_source.h: the text of a file as UTF-8, whatever the file's encoding.
//
// UTF-16 is known by its byte order mark, or by zeros in every second byte of the first four. In any other file, bytes that
// are not UTF-8 are read as Windows-1252, of which Latin-1 is a part, and everything else stays as it is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "data/bytes.h"

namespace dma::csv {

class TextSource {
 public:
  // Reads at most `block` bytes of the file at a time.
  TextSource(const std::filesystem::path& path, std::size_t block);

  // As those of ByteSource.
  std::size_t read(char* into, std::size_t size);
  bool can_rewind() const { return source_.can_rewind(); }
  void rewind();
  double share() const { return source_.share(); }
  const std::string& name() const { return source_.name(); }
  double expected_bytes() const { return source_.expected_bytes(); }

  // UTF-16, Windows-1252 if there was such a byte so far, or empty: UTF-8.
  std::string encoding() const;

 private:
  enum class Form { utf8, little_endian, big_endian };

  void begin();
  std::size_t give(char* into, std::size_t size);
  void decode(bool is_end);
  std::size_t decode_bytes(bool is_end);
  std::size_t decode_pairs(bool is_end);

  ByteSource source_;
  Form form_ = Form::utf8;
  bool has_other_bytes_ = false;
  std::string raw_ = {};   // bytes that are not yet decoded
  std::string text_ = {};  // decoded
  std::size_t given_ = 0;  // of text_
  bool at_end_ = false;
};

}  // namespace dma::csv
