#include <dma/base/parallel.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Nothing here is atomic on purpose: what a test writes in one place and reads in another is what the
// thread sanitizer checks, and what the header promises.
namespace dma::detail {
namespace {

constexpr std::array<std::size_t, 4> thread_counts{0, 1, 2, 7};

std::vector<std::string> texts(std::size_t count) {
  std::vector<std::string> result;
  for (std::size_t n = 0; n < count; ++n) result.push_back("the number " + std::to_string(n));
  return result;
}

TEST(ParallelFor, RunsEveryNumberOnce) {
  for (const std::size_t threads : thread_counts) {
    for (const std::size_t count : {0U, 1U, 2U, 100U}) {
      const auto before = texts(count);
      std::vector<std::string> after(count);
      parallel_for(count, threads, [&](std::size_t n) { after[n] += before[n]; });
      EXPECT_EQ(after, before);
    }
  }
}

TEST(ParallelFor, HandsOnWhatWasThrown) {
  for (const std::size_t threads : thread_counts) {
    std::vector<int> seen(50);
    try {
      parallel_for(seen.size(), threads, [&](std::size_t n) {
        ++seen[n];
        if (n == 20) throw std::runtime_error("at " + std::to_string(n));
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "at 20");
    }
    EXPECT_EQ(seen[20], 1);
    EXPECT_LE(*std::max_element(seen.begin(), seen.end()), 1);
  }
}

TEST(ParallelFor, MayBeNested) {
  std::vector<std::vector<int>> seen(10, std::vector<int>(10));
  parallel_for(seen.size(), 2, [&](std::size_t outer) {
    parallel_for(seen[outer].size(), 2, [&](std::size_t inner) { ++seen[outer][inner]; });
    EXPECT_EQ(std::accumulate(seen[outer].begin(), seen[outer].end(), 0), 10);
  });
  EXPECT_EQ(seen, std::vector(10, std::vector(10, 1)));
}

TEST(ParallelRanges, CoverEverythingInPiecesThatAreNotTooLong) {
  for (const std::size_t threads : thread_counts) {
    for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 1000U}) {
      std::vector<int> seen(count);
      std::mutex mutex;
      std::size_t longest = 0;
      parallel_ranges(count, 64, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t n = begin; n < end; ++n) ++seen[n];
        const std::lock_guard lock(mutex);
        longest = std::max(longest, end - begin);
      });
      EXPECT_EQ(seen, std::vector(count, 1));
      EXPECT_LE(longest, 64U);
    }
  }
}

struct Item {
  std::size_t number;
  std::string passed;
};

TEST(Pipeline, TakesItemsThroughItsStagesInOrder) {
  constexpr std::size_t count = 200;
  for (const std::size_t threads : thread_counts) {
    std::array<std::optional<Item>, 3> items;
    std::size_t begun = 0;
    std::size_t middle = 0;
    std::vector<std::size_t> finished;
    const auto first = [&](std::size_t slot) {
      EXPECT_FALSE(items[slot].has_value());  // never more items than slots
      if (begun == count) return false;
      items[slot] = {begun++, "first"};
      return true;
    };
    const auto second = [&](std::size_t slot) {
      EXPECT_EQ(items[slot]->number, middle++);
      std::vector<std::string> parts(4);
      parallel_for_within(parts.size(), [&](std::size_t k) { parts[k] = " second"; });
      for (const auto& part : parts) items[slot]->passed += part;
    };
    const auto third = [&](std::size_t slot) {
      EXPECT_EQ(items[slot]->passed, "first second second second second");
      finished.push_back(items[slot]->number);
      items[slot].reset();
    };
    pipeline(items.size(), threads, first, second, third);
    std::vector<std::size_t> expected(count);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    EXPECT_EQ(finished, expected);
  }
}

TEST(Pipeline, HandsOnWhatWasThrown) {
  for (const std::size_t threads : thread_counts) {
    std::size_t begun = 0;
    const auto first = [&](std::size_t) { return ++begun < 100; };
    const auto second = [&](std::size_t) {
      throw std::runtime_error("in the middle of " + std::to_string(threads));
    };
    const auto third = [](std::size_t) { FAIL(); };
    try {
      pipeline(3, threads, first, second, third);
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "in the middle of " + std::to_string(threads));
    }
  }
}

#ifdef __SANITIZE_THREAD__
// Returns when so many threads are there, or after ten seconds. Says nothing about their order.
class Meeting {
 public:
  void wait_for(int threads) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    there_.fetch_add(1, std::memory_order_relaxed);
    while (there_.load(std::memory_order_relaxed) < threads &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<int> there_ = 0;
};

// What the sanitizer is told of a loop must not hide what the sanitizer is there for.
class RaceDeathTest : public testing::Test {
 protected:
  RaceDeathTest() { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
  Meeting meeting_;
  int shared_ = 0;
};

TEST_F(RaceDeathTest, IsSeenBetweenTwoRuns) {
  const auto race = [&] {
    parallel_for(2, 2, [&](std::size_t) {
      meeting_.wait_for(2);
      ++shared_;
    });
    std::exit(0);
  };
  EXPECT_EXIT(race(), testing::ExitedWithCode(66), "data race");
}

TEST_F(RaceDeathTest, IsSeenBetweenTwoRanges) {
  const auto race = [&] {
    parallel_ranges(2, 1, 2, [&](std::size_t, std::size_t) {
      meeting_.wait_for(2);
      ++shared_;
    });
    std::exit(0);
  };
  EXPECT_EXIT(race(), testing::ExitedWithCode(66), "data race");
}

TEST_F(RaceDeathTest, IsSeenBetweenTwoStages) {
  const auto race = [&] {
    int items = 0;
    const auto touch = [&](std::size_t) {
      if (items > 1) meeting_.wait_for(2);
      ++shared_;
      return ++items < 10;
    };
    const auto third = [&](std::size_t) { ++shared_; };
    pipeline(
        3, 2, touch, [&](std::size_t) { meeting_.wait_for(2); }, third);
    std::exit(0);
  };
  EXPECT_EXIT(race(), testing::ExitedWithCode(66), "data race");
}
#endif

}  // namespace
}  // namespace dma::detail
