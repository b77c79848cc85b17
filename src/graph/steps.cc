#include <algorithm>
#include <limits>
#include <utility>

#include <dma/graph/schedule.h>

namespace dma {

Step Steps::const_iterator::operator*() const {
  const Rows& part = steps_->parts_[part_];
  const Step step = steps_->pattern_[part.first + place_];
  return {step.factor + part.shift(row_), step.edge};
}

Steps::const_iterator& Steps::const_iterator::operator++() {
  const Rows& part = steps_->parts_[part_];
  if (++place_ < part.count) return *this;
  place_ = 0;
  if (++row_ < part.rows) return *this;
  row_ = 0;
  ++part_;
  return *this;
}

Steps::const_iterator Steps::const_iterator::operator++(int) {
  const const_iterator before = *this;
  ++*this;
  return before;
}

Steps::Steps(std::vector<Step> steps) : pattern_(std::move(steps)), size_(pattern_.size()) {
  if (size_ > 0) parts_.push_back({.count = size_});
}

void Steps::push_back(Step step) {
  if (parts_.empty() || parts_.back().rows > 1) parts_.push_back({.first = pattern_.size()});
  ++parts_.back().count;
  pattern_.push_back(step);
  ++size_;
}

void Steps::append(const Steps& more) {
  if (&more == this) return append(Steps(more));
  for (const Rows& part : more.parts_) append_rows(more.pattern(part), part.rows, part.back);
}

void Steps::append_rows(std::span<const Step> of_first_row, std::uint32_t rows, bool back) {
  if (of_first_row.empty() || rows == 0) return;
  const bool goes_on = rows == 1 && !parts_.empty() && parts_.back().rows == 1;
  if (goes_on) {
    parts_.back().count += of_first_row.size();
  } else {
    parts_.push_back({pattern_.size(), of_first_row.size(), rows, back && rows > 1});
  }
  pattern_.insert(pattern_.end(), of_first_row.begin(), of_first_row.end());
  size_ += of_first_row.size() * rows;
}

Steps::const_iterator Steps::begin() const {
  const_iterator at;
  at.steps_ = this;
  return at;
}

Steps::const_iterator Steps::end() const {
  const_iterator at = begin();
  at.part_ = parts_.size();
  return at;
}

bool operator==(const Steps& one, const Steps& other) {
  if (one.size_ != other.size_) return false;
  if (one.parts_ == other.parts_) return one.pattern_ == other.pattern_;
  return std::equal(one.begin(), one.end(), other.begin());
}

}  // namespace dma
