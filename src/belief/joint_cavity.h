// belief/joint_cavity.h: the cavity of a joint belief, row by row.
#pragma once

#include <span>

#include <dma/belief/certificate.h>
#include <dma/likelihood/likelihood.h>

namespace dma::detail {

// Takes each row's own messages out of what is believed of its outputs (belief/joint.h). The messages were linearised
// where the outputs have these values: rows x outputs. NaN, and counted, where rounding leaves nothing beside them.
void take_out_own_messages(const RowTerms& terms, std::span<const double> values,
                           OutputMoments& moments, JointCertificate& certificate);

}  // namespace dma::detail
