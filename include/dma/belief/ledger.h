// belief/ledger.h: what each batch has told the weights.
//
//   posterior = prior x product of the ledger's messages
//
// That a batch's old message is divided out before a new one is multiplied in is what lets training
// run for any number of epochs without counting the data twice.
#pragma once

#include <concepts>
#include <cstddef>
#include <vector>

namespace dma {

// full     one message per batch: B x weights x 2 numbers. Batches can be replaced and forgotten.
// average  one shared message, the geometric mean of all (stochastic EP): nothing beside the
//          posterior. A batch is replaced by removing the average, so what exactly it said is lost: it
//          cannot be forgotten, and batches that disagree are blurred.
// none     a filter (ADF): every visit adds. One pass is sound; further passes count the data again.
enum class LedgerMode { full, average, none };

std::size_t ledger_bytes(LedgerMode mode, std::size_t batches, std::size_t weights,
                         std::size_t number_bytes);

// Independent weights: a batch sends each of them a Gaussian, in natural parameters, in the flat order of the weights.
template <std::floating_point T>
struct BatchMessage {
  std::vector<T> tau, rho;
};

template <std::floating_point T>
struct Ledger {
  LedgerMode mode = LedgerMode::full;
  // Mode full: one per batch, empty until the batch was first visited. Other modes: none.
  std::vector<BatchMessage<T>> messages;

  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& message : messages)
      sum += (message.tau.size() + message.rho.size()) * sizeof(T);
    return sum;
  }
};

// A joint belief: every row sends all weights together a Gaussian of rank one per output, precision g g' and precision
// times mean g t. With the root R of the row's curvature, g = J' R_c for output c; J follows from the inputs and from
// the weights at which the posterior is linearised, so that what is kept does not grow with the network. A batch is some
// rows, one after the other.
struct JointLedger {
  std::vector<double> inputs = {};  // rows x inputs
  std::vector<double> roots = {};   // rows x outputs x outputs, as RowTerms::expand() writes them
  std::vector<double> shifts = {};  // t: rows x outputs

  bool empty() const { return shifts.empty(); }
  std::size_t bytes() const {
    return (inputs.size() + roots.size() + shifts.size()) * sizeof(double);
  }
};

}  // namespace dma
