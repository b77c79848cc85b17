// regressor/joint_members.h: an ensemble of joint networks, fitted, changed and predicted.
#pragma once

#include <span>
#include <vector>

#include <dma/regressor/regressor.h>

#include "regressor/members.h"

namespace dma::detail {

// From so many rows on, a joint network is learnt from as many first, then from all.
inline constexpr std::size_t many_rows = 3000;

struct JointFits {
  JointMembers members;
  std::vector<FitResult> results;  // one per draw; cavity predictions rows x targets
};

// Bytes of the messages that a full ledger keeps.
std::size_t joint_ledger_bytes(const Architecture& architecture, std::size_t rows,
                               const RegressorOptions& options);

// The checkpoint may be null.
JointFits fit_joint(const Architecture& architecture, const RegressorOptions& options,
                    std::span<const double> noise_variance, const Rows& rows, bool keep_ledger,
                    const OnProgress& progress, CheckpointFile* checkpoint);

// Without the rows of the batches that stay, their messages stand; with them everything is learnt again,
// starting from what is known. Every row has a message of its own, whatever the batches.
JointFits change_members(const JointMembers& members, const RegressorOptions& options,
                         std::size_t batch_size, const Change& change, const OnProgress& progress);

class MemberPredictor;

// Members made ready for many rows; they themselves are no longer needed.
class JointEnsemble {
 public:
  JointEnsemble(const JointMembers& members, std::size_t targets);
  ~JointEnsemble();
  JointEnsemble(JointEnsemble&&) noexcept;
  JointEnsemble& operator=(JointEnsemble&&) noexcept;

  Prediction predict(std::span<const double> inputs, std::size_t rows, std::size_t threads) const;

 private:
  std::size_t targets_, inputs_;
  std::vector<MemberPredictor> members_;
  std::vector<NoiseShape> shapes_;
};

}  // namespace dma::detail
