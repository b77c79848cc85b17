// data/ids.h: columns of whole numbers that name rows instead of saying something about them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "data/value_counts.h"

namespace dma {

// Whether the name says so: id, PassengerId, customer_no, Unnamed: 0.
bool is_id_name(std::string_view name);

class IdEvidence {
 public:
  explicit IdEvidence(std::string_view name);

  void add(double number);
  // Whether the numbers are whole and all different, and count the rows or have the name of an id. Numbers that count may
  // have gaps, where rows are missing; a name such as day, x or x1 speaks against an index.
  bool is_id() const;

 private:
  bool named_;
  bool may_count_;
  bool whole_ = true;
  bool ascending_ = true;
  double last_ = -1;
  std::size_t count_ = 0;
  ValueCounts different_ = ValueCounts();  // if named
};

}  // namespace dma
