// belief/joint_cavity.h: the cavity of a joint belief, row by row.
#pragma once

#include <span>

#include <dma/belief/certificate.h>
#include <dma/belief/joint_posterior.h>

namespace dma::detail {

// Takes each row's own messages out of what is believed of its outputs (belief/joint.h). The messages were linearised
// where the outputs have these values: rows x outputs. NaN, and counted, where rounding leaves nothing beside them.
void take_out_own_messages(const RowTerms& terms, std::span<const double> values,
                           OutputMoments& moments, JointCertificate& certificate);

// What is believed of the outputs of rows that were learnt, the last of the ledger, each without its own message. At the
// weights where they were linearised the network has these values.
OutputMoments cavity_of(const JointKnowledge& known, const Data& rows, const RowTerms& terms,
                        std::span<const double> values, JointCertificate& certificate);

}  // namespace dma::detail
