#include "data/bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <dma/base/error.h>

#include "data/message.h"

namespace dma::csv {
namespace {

constexpr std::size_t largest_read = std::size_t{1} << 30U;  // zlib counts in unsigned int

std::string because(int error) { return std::generic_category().message(error); }

}  // namespace

struct ByteSource::Inflater {
  Inflater() {
    constexpr int gzip_only = 15 + 16;
    if (inflateInit2(&stream, gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  bool inside = true;  // a member: the bytes between one gzip header and its checksum
};

ByteSource::ByteSource(const std::filesystem::path& path, std::size_t block)
    : name_(path == "-" ? "standard input" : escaped(path.string())),
      input_(std::clamp(block, std::size_t{2}, largest_read)) {
  open(path);
  try {
    begin();
  } catch (...) {
    if (file_ > 0) ::close(file_);
    throw;
  }
}

ByteSource::~ByteSource() {
  if (file_ > 0) ::close(file_);
}

void ByteSource::open(const std::filesystem::path& path) {
  file_ = path == "-" ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) {
    if (errno == ENOENT) throw DataError(name_ + ": there is no such file");
    if (errno == EACCES) throw DataError(name_ + ": no permission to read it");
    throw DataError(name_ + ": cannot be opened: " + because(errno));
  }
  struct stat about {};
  if (::fstat(file_, &about) != 0) return;
  if (S_ISREG(about.st_mode) && file_ > 0) size_ = static_cast<std::uint64_t>(about.st_size);
  if (S_ISDIR(about.st_mode)) {
    if (file_ > 0) ::close(file_);
    throw DataError(name_ + ": is a directory, not a file");
  }
}

void ByteSource::begin() {
  while (input_end_ < 2) {
    const std::size_t got = read_file(input_.data() + input_end_, 2 - input_end_);
    if (got == 0) break;
    input_end_ += got;
  }
  if (input_end_ == 2 && input_[0] == '\x1f' && input_[1] == '\x8b') {
    inflater_ = std::make_unique<Inflater>();
  }
}

void ByteSource::rewind() {
  if (::lseek(file_, 0, SEEK_SET) != 0) throw DataError(name_ + ": " + because(errno));
  inflater_.reset();
  taken_ = given_ = 0;
  input_begin_ = input_end_ = 0;
  begin();
}

double ByteSource::expected_bytes() const {
  const auto used = static_cast<double>(taken_ - (input_end_ - input_begin_));
  if (size_ == 0 || used == 0) return 0;
  return static_cast<double>(given_) / used * static_cast<double>(size_);
}

std::size_t ByteSource::read_file(char* into, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(file_, into, std::min(size, input_.size()));
    if (got >= 0) {
      taken_ += static_cast<std::uint64_t>(got);
      return static_cast<std::size_t>(got);
    }
    if (errno != EINTR) throw DataError(name_ + ": cannot be read: " + because(errno));
  }
}

bool ByteSource::fill_input() {
  if (input_begin_ < input_end_) return true;
  input_begin_ = 0;
  input_end_ = read_file(input_.data(), input_.size());
  return input_end_ > 0;
}

std::size_t ByteSource::read(char* into, std::size_t size) {
  const std::size_t got = inflater_ ? read_compressed(into, size) : read_plain(into, size);
  given_ += got;
  return got;
}

std::size_t ByteSource::read_plain(char* into, std::size_t size) {
  if (input_begin_ == input_end_) return read_file(into, size);
  const std::size_t got = std::min(size, input_end_ - input_begin_);
  std::memcpy(into, input_.data() + input_begin_, got);
  input_begin_ += got;
  return got;
}

std::size_t ByteSource::read_compressed(char* into, std::size_t size) {
  z_stream& stream = inflater_->stream;
  const std::size_t most = std::min(size, largest_read);
  stream.next_out = reinterpret_cast<Bytef*>(into);
  stream.avail_out = static_cast<uInt>(most);
  while (stream.avail_out == most && at_member()) inflate_some();
  return most - stream.avail_out;
}

// Concatenated files have several members; zeros may pad the last one.
bool ByteSource::at_member() {
  if (inflater_->inside) return true;
  for (; fill_input(); ++input_begin_) {
    if (input_[input_begin_] == 0) continue;
    if (input_[input_begin_] != '\x1f') {
      throw DataError(name_ + ": the compressed data is followed by something that is not gzip");
    }
    inflateReset(&inflater_->stream);
    inflater_->inside = true;
    return true;
  }
  return false;
}

void ByteSource::inflate_some() {
  z_stream& stream = inflater_->stream;
  if (!fill_input()) {
    throw DataError(name_ + ": the gzip file is cut off; copy or download it again");
  }
  stream.next_in = reinterpret_cast<Bytef*>(input_.data() + input_begin_);
  stream.avail_in = static_cast<uInt>(input_end_ - input_begin_);
  const int status = inflate(&stream, Z_NO_FLUSH);
  input_begin_ = input_end_ - stream.avail_in;
  if (status == Z_STREAM_END) {
    inflater_->inside = false;
  } else if (status == Z_MEM_ERROR) {
    throw std::bad_alloc();
  } else if (status != Z_OK && status != Z_BUF_ERROR) {
    const std::string why = stream.msg == nullptr ? "" : " (" + std::string(stream.msg) + ")";
    throw DataError(name_ + ": the gzip file is damaged" + why);
  }
}

}  // namespace dma::csv
