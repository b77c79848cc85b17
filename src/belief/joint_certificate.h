// belief/joint_certificate.h: what a joint belief has to answer for.
#pragma once

#include <dma/belief/certificate.h>
#include <dma/belief/joint_posterior.h>

namespace dma::detail {

// With the layers' precisions, and the linearisation's error at some of the rows; the rest of `joint` is known already.
Certificate certify(const JointPosterior& function, const Data& rows, const Bounded& bounded,
                    JointCertificate joint);

}  // namespace dma::detail
