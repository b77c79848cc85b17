#include <dma/data/atomic_file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <system_error>

namespace dma {
namespace {

constexpr std::size_t buffer_size = 1 << 20;
constexpr const char* link_mark = ".partial-of-";  // then the process and a number

// The permissions of the existing file.
std::optional<mode_t> permissions_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode & 07777;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(path_, ignored) && std::filesystem::exists(path_, ignored)) {
    path_ = std::filesystem::canonical(path_);
  }
  buffer_.reserve(buffer_size);
  if (std::filesystem::is_directory(path_, ignored)) {
    throw FileError(path_.string() + ": is a directory, not a file that can be written");
  }
  if (std::filesystem::exists(path_, ignored) &&
      !std::filesystem::is_regular_file(path_, ignored)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot be opened for writing");
    direct_ = true;
    return;
  }
  // A new file gets the system's default permissions. A replacement is private until it has the old file's permissions.
  const auto old = permissions_of(path_);
  const unsigned mode = old ? 0600 : 0666;
  if (!open_nameless(mode)) open_partial(mode);
  if (old) (void)::fchmod(descriptor_, *old);
}

// A file without a name disappears with the process, however that ends. Not every file system supports it, and without
// /proc it could not be named later.
bool AtomicFile::open_nameless(unsigned mode) {
#ifdef O_TMPFILE
  if (::access("/proc/self/fd", X_OK) != 0) return false;
  descriptor_ = ::open(folder().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
#endif
  return descriptor_ >= 0;
}

void AtomicFile::open_partial(unsigned mode) {
  const std::string stem = path_.string() + ".partial-" + std::to_string(::getpid()) + "-";
  std::string name;
  unsigned attempt = 0;
  do {
    name = stem + std::to_string(attempt++);
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("cannot be created");
  partial_ = name;
}

// Links the open file to a temporary name in the same folder: a link cannot replace a file, but a rename can.
void AtomicFile::give_name() {
  const std::string open_file = "/proc/self/fd/" + std::to_string(descriptor_);
  const std::string stem = path_.string() + link_mark + std::to_string(::getpid()) + "-";
  unsigned attempt = 0;
  do {
    partial_ = stem + std::to_string(attempt++);
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, partial_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      return;
    }
  } while (errno == EEXIST);
  partial_.clear();
  fail("cannot be put in place");
}

// A process killed between link and rename leaves the link behind; the next one that writes the file removes it.
void AtomicFile::remove_leftovers() const {
  const std::string mark = path_.filename().string() + link_mark;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(mark)) continue;
    pid_t process = 0;
    const char* digits = name.data() + mark.size();
    if (std::from_chars(digits, name.data() + name.size(), process).ec != std::errc{}) continue;
    if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) ::unlink(entry.path().c_str());
  }
}

std::filesystem::path AtomicFile::folder() const {
  return path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void AtomicFile::fail(const std::string& doing) const {
  throw FileError(path_.string() + ": " + doing + ": " + std::generic_category().message(errno));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > buffer_size) flush();
  if (bytes.size() > buffer_size) {
    write_out(bytes.data(), bytes.size());
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void AtomicFile::flush() {
  write_out(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::write_out(const std::byte* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = ::write(descriptor_, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  flush();
  if (direct_) return;
  if (::fsync(descriptor_) != 0) fail("cannot be flushed to the disk");
  if (partial_.empty()) {
    remove_leftovers();
    give_name();
  }
  if (::rename(partial_.c_str(), path_.c_str()) != 0) fail("cannot be put in place");
  partial_.clear();
  // Makes the new name survive a crash too; errors are ignored, because not every file system supports this.
  const int parent = ::open(folder().c_str(), O_RDONLY | O_CLOEXEC);
  if (parent >= 0) {
    (void)::fsync(parent);
    ::close(parent);
  }
}

}  // namespace dma
