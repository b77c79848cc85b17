// regressor/kind.h: whether a target is a number or an amount.
#pragma once

#include <string>

#include <dma/regressor/regressor.h>

namespace dma::detail {

// The kind of a target that was taken for a number, and why.
struct ChosenKind {
  TargetKind kind = TargetKind::number;
  std::string reason = {};
};

// Where every value is positive and they differ by much, a small network is fitted to some of the rows as numbers and as
// amounts, and the rows that it had not learnt decide.
ChosenKind choose_kind(const Table& table, const RegressorOptions& options);

}  // namespace dma::detail
