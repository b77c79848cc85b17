// graph/schedule.h: the order in which a graph's messages are sent. A schedule is data: it can be
// printed, written by hand, or derived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

#include <dma/graph/arrays.h>

namespace dma {

// Sends the message from a factor to one of its edges (0 is the first).
struct Step {
  std::uint32_t factor;
  std::uint32_t edge;

  friend bool operator==(Step, Step) = default;
};

// Steps in their order. Rows of arrays that follow each other are kept as the steps of the first row and the number of
// rows; whoever iterates sees every step.
class Steps {
 public:
  // The steps `first` to first + count of the pattern, for each of so many rows: in every row those of the next factors or,
  // on the way back, of the ones before. A list of steps is one row.
  struct Rows {
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint32_t rows = 1;
    bool back = false;

    // What is added to the factors of the pattern, modulo 2^32.
    std::uint32_t shift(std::uint32_t row) const { return back ? 0U - row : row; }

    friend bool operator==(const Rows&, const Rows&) = default;
  };

  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Step;
    using difference_type = std::ptrdiff_t;
    using pointer = const Step*;
    using reference = Step;

    Step operator*() const;
    const_iterator& operator++();
    const_iterator operator++(int);
    friend bool operator==(const const_iterator&, const const_iterator&) = default;

   private:
    friend class Steps;
    const Steps* steps_ = nullptr;
    std::size_t part_ = 0;
    std::uint32_t row_ = 0;
    std::size_t place_ = 0;
  };
  using iterator = const_iterator;
  using value_type = Step;

  Steps() = default;
  Steps(std::initializer_list<Step> steps) : Steps(std::vector<Step>(steps)) {}
  Steps(std::vector<Step> steps);  // converts: a list of steps is steps

  void push_back(Step step);
  void append(const Steps& more);
  // These steps of the first row, then of the next ones, so many rows in all.
  void append_rows(std::span<const Step> of_first_row, std::uint32_t rows, bool back = false);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const_iterator begin() const;
  const_iterator end() const;
  // How they are kept.
  std::span<const Rows> parts() const { return parts_; }
  std::span<const Step> pattern(const Rows& part) const {
    return std::span(pattern_).subspan(part.first, part.count);
  }

  // The same steps, however they are kept.
  friend bool operator==(const Steps& one, const Steps& other);

 private:
  std::vector<Step> pattern_;
  std::vector<Rows> parts_;
  std::size_t size_ = 0;
};

// One sweep: the forward steps, then the backward steps.
struct Schedule {
  Steps forward;
  Steps backward;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// The message from each of these factors to one of their edges.
struct RowStep {
  FactorArray factors;
  std::uint32_t edge;
};

// For rows that follow each other in time: all forward steps of the first row, then of the next; then all backward steps
// of the last row, and of those before it. Throws GraphError unless all arrays have as many rows.
Schedule row_by_row(std::span<const RowStep> forward, std::span<const RowStep> backward = {});
inline Schedule row_by_row(std::initializer_list<RowStep> forward,
                           std::initializer_list<RowStep> backward = {}) {
  return row_by_row(std::span(forward.begin(), forward.size()),
                    std::span(backward.begin(), backward.size()));
}

}  // namespace dma
