// There is always the old or the new file, complete.
#include <dma/data/atomic_file.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "scratch.h"

namespace dma {
namespace {

using test::content;
using test::Scratch;

TEST(AtomicFile, AppearsWithCommit) {
  const Scratch scratch;
  {
    AtomicFile file(scratch.path("f"));
    file.write("new");
    EXPECT_FALSE(std::filesystem::exists(scratch.path("f")));
    file.commit();
  }
  EXPECT_EQ(content(scratch.path("f")), "new");
  EXPECT_EQ(scratch.files(), 1U);
}

TEST(AtomicFile, WithoutCommitNothingHasHappened) {
  const Scratch scratch;
  scratch.file("f", "old");
  { AtomicFile(scratch.path("f")).write(std::string(3 << 20, 'x')); }
  EXPECT_EQ(content(scratch.path("f")), "old");
  EXPECT_EQ(scratch.files(), 1U);
}

TEST(AtomicFile, HoldsPiecesOfAnySize) {
  const Scratch scratch;
  std::string all;
  AtomicFile file(scratch.path("f"));
  for (std::size_t size = 1; size < 5'000'000; size = 3 * size + 1) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    file.write(piece);
    all += piece;
  }
  file.commit();
  EXPECT_EQ(content(scratch.path("f")), all);
}

TEST(AtomicFile, KeepsPermissionsAndLinks) {
  const Scratch scratch;
  scratch.file("f", "old");
  ::chmod(scratch.path("f").c_str(), 0640);
  std::filesystem::create_symlink(scratch.path("f"), scratch.path("link"));
  AtomicFile file(scratch.path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path("link")));
  EXPECT_EQ(content(scratch.path("f")), "new");
  struct stat status {};
  ::stat(scratch.path("f").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

// The mask is the whole process's: whoever changes it for a moment changes it for other threads' files too.
TEST(AtomicFile, LeavesTheMaskOfTheProcessAlone) {
  const Scratch scratch;
  const mode_t mask = ::umask(027);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int k = 0; k < 2000; ++k) {
      AtomicFile(scratch.path("ours")).commit();
      std::filesystem::remove(scratch.path("ours"));  // the next one is new again
    }
    done = true;
  });
  unsigned open_to_all = 0;
  while (!done) {
    const std::string path = scratch.path("theirs");
    ::close(::open(path.c_str(), O_WRONLY | O_CREAT, 0666));
    struct stat status {};
    ::stat(path.c_str(), &status);
    open_to_all += (status.st_mode & 0777) != 0640;
    ::unlink(path.c_str());
  }
  writer.join();
  AtomicFile(scratch.path("last")).commit();
  ::umask(mask);
  EXPECT_EQ(open_to_all, 0U);
  struct stat status {};
  ::stat(scratch.path("last").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(AtomicFile, TakesAwayWhatAKilledProcessHasLeft) {
  const Scratch scratch;
  const pid_t killed = ::fork();
  if (killed == 0) ::_exit(0);
  ::waitpid(killed, nullptr, 0);
  const auto left_by = [&](pid_t process) {
    return scratch.file("f.partial-of-" + std::to_string(process) + "-0", "left");
  };
  const std::string dead = left_by(killed);
  const std::string alive = left_by(::getpid());
  scratch.file("f.partial-of-her-own-hand", "theirs");
  AtomicFile file(scratch.path("f"));
  file.write("new");
  file.commit();
  EXPECT_EQ(content(scratch.path("f")), "new");
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(alive));
  EXPECT_EQ(scratch.files(), 3U);
}

TEST(AtomicFile, SaysWhyNot) {
  const Scratch scratch;
  EXPECT_THROW(AtomicFile(scratch.path("no/such/folder/f")), FileError);
  EXPECT_THROW(AtomicFile(scratch.path("")), FileError);
  AtomicFile full("/dev/full");
  full.write("x");
  EXPECT_THROW(full.commit(), FileError);
}

}  // namespace
}  // namespace dma
