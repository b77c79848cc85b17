// belief/batches.h: the batches that a belief has heard or is to hear, and the rows of those that are here.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <dma/data/data.h>

#include "base/require.h"

namespace dma::detail {

template <std::floating_point T>
class Batches {
 public:
  struct Batch {
    std::size_t first;  // of its rows; nowhere: they are not here
    std::size_t count;
    bool visited;  // its message is in the belief

    bool here() const { return first != nowhere; }
  };

  Batches(std::size_t inputs, std::size_t targets) : inputs_(inputs), targets_(targets) {}

  std::size_t size() const { return batches_.size(); }
  const Batch& operator[](std::size_t b) const { return batches_[b]; }
  auto begin() const { return batches_.begin(); }
  auto end() const { return batches_.end(); }
  std::size_t rows() const { return input_values_.size() / inputs_; }
  std::size_t visited() const { return visited_; }
  bool all_here() const {
    return std::all_of(begin(), end(), [](const Batch& batch) { return batch.here(); });
  }
  std::vector<std::size_t> counts() const {
    std::vector<std::size_t> counts;
    for (const Batch& batch : batches_) counts.push_back(batch.count);
    return counts;
  }

  std::span<const T> input(std::size_t row) const {
    return std::span(input_values_).subspan(row * inputs_, inputs_);
  }
  std::span<const T> target(std::size_t row) const {
    return std::span(target_values_).subspan(row * targets_, targets_);
  }
  double weight(std::size_t row) const { return weights_.empty() ? 1 : weights_[row]; }
  // Values of all rows that are here.
  const std::vector<T>& target_values() const { return target_values_; }
  const std::vector<double>& weights() const { return weights_; }  // empty: each counts once
  Data data() const requires std::same_as<T, double> {
    return {input_values_, target_values_, rows(), weights_};
  }

  // Returns the first new batch.
  std::size_t append(const Data& data, std::size_t batch_size) {
    data.validate(inputs_, targets_);
    const std::size_t first = size();
    const std::size_t old_rows = rows();
    take_rows(data);
    for (std::size_t row = 0; row < data.rows; row += batch_size) {
      batches_.push_back({old_rows + row, std::min(batch_size, data.rows - row), false});
    }
    return first;
  }

  // Batches that were heard elsewhere.
  void stand(std::span<const std::size_t> counts) {
    for (const std::size_t count : counts) batches_.push_back({nowhere, count, true});
    visited_ += counts.size();
  }

  void attach(std::size_t b, const Data& data) {
    data.validate(inputs_, targets_);
    require_batch(b);
    require(!batches_[b].here(), "batch " + std::to_string(b) + " has its rows already");
    require(data.rows == batches_[b].count, "batch " + std::to_string(b) + " has " +
                                                std::to_string(batches_[b].count) + " rows, got " +
                                                std::to_string(data.rows));
    batches_[b].first = rows();
    take_rows(data);
  }

  void visit(std::size_t b) {
    if (!batches_[b].visited) ++visited_;
    batches_[b].visited = true;
  }

  // For batches that were all visited before this belief was made.
  void visit_all() {
    for (std::size_t b = 0; b < size(); ++b) visit(b);
  }

  // They ascend.
  void erase(std::span<const std::size_t> numbers) {
    for (auto b = numbers.rbegin(); b != numbers.rend(); ++b) {
      const Batch gone = batches_[*b];
      if (gone.here()) erase_rows(gone);
      if (gone.visited) --visited_;
      batches_.erase(batches_.begin() + static_cast<std::ptrdiff_t>(*b));
    }
  }

  void require_batch(std::size_t b) const {
    require(b < size(),
            "there is no batch " + std::to_string(b) + ", only " + std::to_string(size()));
  }

  // Rows that belong to no batch, for the time of a call; there must be no others.
  void take_rows(const Data& data) {
    append_weights(data.weights, data.rows, rows(), weights_);
    for (const double value : data.inputs) input_values_.push_back(T(value));
    for (const double value : data.targets) target_values_.push_back(T(value));
  }
  void drop_rows() {
    input_values_.clear();
    target_values_.clear();
    weights_.clear();
  }

 private:
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  void erase_rows(const Batch& gone) {
    const auto erase = [&](auto& values, std::size_t width) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(gone.first * width);
      values.erase(begin, begin + static_cast<std::ptrdiff_t>(gone.count * width));
    };
    erase(input_values_, inputs_);
    erase(target_values_, targets_);
    if (!weights_.empty()) erase(weights_, 1);
    for (Batch& other : batches_) {
      if (other.here() && other.first > gone.first) other.first -= gone.count;
    }
  }

  std::size_t inputs_, targets_;
  std::vector<T> input_values_, target_values_;
  std::vector<double> weights_;
  std::vector<Batch> batches_;
  std::size_t visited_ = 0;
};

}  // namespace dma::detail
