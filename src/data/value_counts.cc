#include "data/value_counts.h"

#include <algorithm>
#include <numeric>

#include "data/row_hash.h"

namespace dma {
namespace {

constexpr std::size_t most_text_bytes = std::size_t{1} << 22U;
constexpr std::size_t most_sampled = std::size_t{1} << 14U;

}  // namespace

std::size_t ValueCounts::place(std::string_view text) {
  if (values_.size() >= room_ || text_bytes_ > most_text_bytes) make_room();
  const std::size_t known = values_.size();
  const std::size_t place = dictionary_.code(text, values_);
  if (place < known) return place;
  counts_.push_back(0);
  rows_.push_back(0);
  text_bytes_ += text.size();
  if (generation_ > 0) sample(text);
  return place;
}

void ValueCounts::make_room() {
  if (generation_++ == 0) {
    for (const std::string& value : values_) sample(value);
  }
  std::vector<double> sorted = counts_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double leaving = *middle;
  std::vector<std::string> values;
  std::vector<double> counts;
  std::vector<std::size_t> rows;
  for (std::size_t k = 0; k < values_.size(); ++k) {
    if (counts_[k] <= leaving) continue;
    values.push_back(std::move(values_[k]));
    counts.push_back(counts_[k] - leaving);
    rows.push_back(rows_[k]);
  }
  values_.clear();
  counts_ = std::move(counts);
  rows_ = std::move(rows);
  dictionary_.clear();
  text_bytes_ = 0;
  for (const std::string& value : values) {
    dictionary_.code(value, values_);
    text_bytes_ += value.size();
  }
}

void ValueCounts::sample(std::string_view text) {
  const auto chosen = [&](std::uint64_t hash) {
    return (hash & ((std::uint64_t{1} << sample_bits_) - 1)) == 0;
  };
  const std::uint64_t hash = word_of(text);
  if (!chosen(hash)) return;
  sample_.insert(hash);
  while (sample_.size() > most_sampled) {
    ++sample_bits_;
    std::erase_if(sample_, [&](std::uint64_t one) { return !chosen(one); });
  }
}

std::size_t ValueCounts::distinct() const {
  return generation_ == 0 ? values_.size() : sample_.size() << sample_bits_;
}

std::size_t ValueCounts::rows_of(std::string_view text) const {
  const auto found = std::find(values_.begin(), values_.end(), text);
  return found == values_.end() ? 0 : rows_[static_cast<std::size_t>(found - values_.begin())];
}

std::vector<std::string> ValueCounts::most_frequent(std::size_t most) const {
  std::vector<std::size_t> order(values_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return counts_[a] > counts_[b]; });
  if (order.size() > most) order.resize(most);
  std::vector<std::string> values;
  for (const std::size_t k : order) values.push_back(values_[k]);
  return values;
}

}  // namespace dma
