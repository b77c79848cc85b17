// The main() of every test program: all its tests, or those of the files that are named.
//
//   data_tests                 everything
//   data_tests data/csv        what is written in data/csv_test.cc
//
// Options of GoogleTest come first: data_tests --gtest_filter=Csv.* --gtest_repeat=10
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace {

// Every test knows the file that it was written in.
std::string tests_written_in(const std::string& name) {
  const std::string ending = "/" + name + "_test.cc";
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string filter;
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      const std::string file = std::string("/") + test.file();
      if (!file.ends_with(ending)) continue;
      filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string filter;
  for (int k = 1; k < argc; ++k) {
    const std::string tests = tests_written_in(argv[k]);
    if (tests.empty()) {
      std::fprintf(stderr, "%s: no test is written in a file %s_test.cc\n", argv[0], argv[k]);
      return 2;
    }
    filter += tests;
  }
  if (!filter.empty()) GTEST_FLAG_SET(filter, filter);
  return RUN_ALL_TESTS();
}
