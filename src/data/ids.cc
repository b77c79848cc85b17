#include "data/ids.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "data/cells.h"
#include "data/digit.h"

namespace dma {
namespace {

using Words = std::vector<std::string>;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// CustomerId, customer_id and "Customer ID" are customer, id.
Words words_of(std::string_view name) {
  Words words(1);
  char before = ' ';
  for (const char c : name) {
    const bool letter = is_upper(c) || is_lower(c) || static_cast<unsigned char>(c) >= 0x80;
    if (!letter || (is_upper(c) && is_lower(before))) {
      if (!words.back().empty()) words.emplace_back();
    }
    if (letter) words.back() += c;
    before = c;
  }
  if (words.back().empty()) words.pop_back();
  for (std::string& word : words) word = lower(word);
  return words;
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// customerid in one word; not acid, humid or paid.
bool is_run_together(std::string_view word) {
  constexpr std::array<std::string_view, 22> owners{
      "p",       "u",       "row",    "user",    "customer", "client",   "patient", "person",
      "student", "subject", "sample", "product", "item",     "order",    "case",    "record",
      "account", "house",   "member", "object",  "employee", "passenger"};
  return word.ends_with("id") && is_one_of(word.substr(0, word.size() - 2), owners);
}

bool is_time_name(const Words& words) {
  constexpr std::array<std::string_view, 26> times{
      "time",   "times", "day",   "days",  "date",   "week",    "weeks",  "month",   "months",
      "year",   "years", "hour",  "hours", "minute", "minutes", "second", "seconds", "quarter",
      "period", "step",  "steps", "epoch", "cycle",  "trial",   "run",    "age"};
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return is_one_of(word, times); });
}

// x, t or x12, but not c1, which a column without a name is called.
bool is_variable_name(std::string_view name) {
  return !name.empty() && name != "c1" && std::all_of(name.begin() + 1, name.end(), csv::is_digit);
}

}  // namespace

bool is_id_name(std::string_view name) {
  constexpr std::array<std::string_view, 13> ids{"id",  "ids",    "uid", "uuid", "guid",
                                                 "key", "index",  "idx", "no",   "nr",
                                                 "num", "number", "row"};
  const Words words = words_of(name);
  if (words.empty()) return false;
  return is_one_of(words.back(), ids) || words.front() == "id" || words.front() == "unnamed" ||
         is_run_together(words.back());
}

IdEvidence::IdEvidence(std::string_view name)
    : named_(is_id_name(name)),
      may_count_(!is_time_name(words_of(name)) && !is_variable_name(name)) {}

void IdEvidence::add(double number) {
  ++count_;
  whole_ = whole_ && is_count(number);
  ascending_ = ascending_ && number > last_;
  last_ = number;
  if (named_ && whole_) different_.count(different_.place(as_text(number)));
}

bool IdEvidence::is_id() const {
  constexpr std::size_t fewest_named = 3;
  constexpr std::size_t fewest_counted = 10;
  if (!whole_) return false;
  // At least half of the numbers from 0 on are there.
  const bool counts = ascending_ && last_ < 2 * static_cast<double>(count_);
  if (may_count_ && counts && count_ >= fewest_counted) return true;
  // The number of different values is known to about 1 % if there are many.
  const bool all_differ = ascending_ || 50 * different_.distinct() >= 49 * count_;
  return named_ && count_ >= fewest_named && all_differ &&
         (count_ > 65'000 || ascending_ || different_.distinct() == count_);
}

}  // namespace dma
