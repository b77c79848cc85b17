#include "bench/idx.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <stdexcept>
#include <string>

#include "scratch.h"

namespace dma::bench {
namespace {

using test::Scratch;

// Two rows of three bytes.
const std::string small(
    "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
    "abcdef",
    18);

std::string compressed(const Scratch& scratch, const std::string& name, const std::string& text) {
  const std::string path = scratch.path(name);
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

std::string complaint(const std::string& path) {
  try {
    read_idx(path);
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind(path + ": ", 0), 0U) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text.substr(path.size() + 2);
  }
  return "none";
}

TEST(Idx, ReadsPlainAndCompressedFiles) {
  const Scratch scratch;
  for (const auto& path : {scratch.file("plain", small), compressed(scratch, "gz", small)}) {
    const ByteArray array = read_idx(path);
    EXPECT_EQ(array.sizes, (std::vector<std::size_t>{2, 3}));
    EXPECT_EQ(std::string(array.bytes.begin(), array.bytes.end()), "abcdef");
  }
}

TEST(Idx, SaysWhatIsWrongInOneLine) {
  const Scratch scratch;
  const auto of = [&](const std::string& text) { return complaint(scratch.file("file", text)); };
  EXPECT_EQ(complaint(scratch.path("absent")), "cannot be opened");
  const std::string no_idx = "is no IDX file of unsigned bytes";
  EXPECT_EQ(of(""), no_idx);
  EXPECT_EQ(of("a,b\n1,2\n"), no_idx);
  std::string floats = small;
  floats[2] = 0x0D;
  EXPECT_EQ(of(floats), no_idx);
  EXPECT_EQ(of(small.substr(0, 9)), "ends within the sizes of its dimensions");
  EXPECT_EQ(of(small.substr(0, 15)), "has 3 bytes where its sizes say 6");
  EXPECT_EQ(of(small + "g"), "has more bytes than its sizes say, 6");
  std::string empty = small;
  empty[7] = 0;
  EXPECT_EQ(of(empty), "a dimension has size 0");
  std::string vast = small;
  vast[4] = '\xff';
  EXPECT_EQ(of(vast), "its sizes make more than 2^30 bytes");
}

TEST(Idx, NoticesACompressedFileThatWasCutOff) {
  const Scratch scratch;
  const std::string whole = test::content(compressed(scratch, "whole", small));
  const std::string path = scratch.file("cut", whole.substr(0, whole.size() - 12));
  EXPECT_NE(complaint(path), "none");
}

}  // namespace
}  // namespace dma::bench
