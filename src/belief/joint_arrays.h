// belief/joint_arrays.h: what a joint belief knows, as the arrays of a file.
#pragma once

#include <dma/base/arrays.h>
#include <dma/belief/joint_posterior.h>

namespace dma::detail {

Arrays store(const JointKnowledge& known);

// With a ledger of so many rows; none: 0. The parameters of the likelihood are in the arrays too. Throws NetworkError
// if the arrays are not those of such a network.
JointKnowledge restore(const Architecture& architecture, std::unique_ptr<Likelihood> likelihood,
                       std::size_t ledger_rows, Arrays stored);

// Takes the factor of the function out of stored arrays if the ledger beside it can say it again; restore() computes it.
// The ledger has to hold every row that the belief has heard. Returns how many bytes fewer that are.
std::size_t leave_factor_out(const Architecture& architecture, Arrays& stored);
// Takes the function's ledger out of stored arrays if there is a factor beside it.
void drop_ledger(Arrays& stored);

}  // namespace dma::detail
