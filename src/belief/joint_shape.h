// belief/joint_shape.h: networks of one shape, each fitted to rows of which it holds a part out.
//
//   search     every member learns without its part, for as long as the parts, all together, are predicted better
//   noise      one network, from what the members missed their parts by, says how large the noise is at each row
//   rehearse   every member learns on without its part, given that noise, and the noise is learnt again
//   refine     every member learns all rows, given that noise
//
// A network that has seen a row believes to know it. How long to learn, how large the noise is and what a shape is worth
// are therefore asked of rows that were not learnt; all parts together, since one alone has too few rows.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <dma/belief/joint.h>

#include "belief/joint_network.h"
#include "belief/varying_noise.h"

namespace dma::detail {

// What a member learns while it searches, and what it does not see.
struct ShapePart {
  Rows learnt, held;
};

struct ShapeOptions {
  std::vector<std::uint64_t> seeds;  // one per member
  std::vector<bool> by_column;       // one per member: see JointOptions
  bool constant_noise = false;
  std::size_t first_epochs = 0;  // of the search, at most
  std::size_t later_epochs = 0;  // and with more rows, each time
  // What the parts' mean log density has to gain from one look to the next, and how many looks without gain end the
  // search. 0 in either: none do.
  double tolerance = 1e-4;
  std::size_t patience = 3;
};

class ShapeFit {
 public:
  using GoOn = std::function<bool()>;  // asked before every epoch
  using AfterEpoch = std::function<void()>;

  ShapeFit(Architecture architecture, const Likelihood& likelihood, ShapeOptions options);

  const Architecture& architecture() const { return architecture_; }
  std::size_t members() const { return members_.size(); }

  // The rows to search with, one part per member; they must stay until the next call. Once there was a look, the members
  // go on from the best, with more rows; the parts that are held out are the same.
  void search_with(std::span<const ShapePart> parts);
  // The same rows as before, after restore().
  void attach(std::span<const ShapePart> parts) { parts_ = parts; }
  // One member, until the next look; the members do not depend on each other. `after_epoch` is called where it can be
  // stored.
  void search(std::size_t member, const GoOn& go_on, const AfterEpoch& after_epoch);
  // After all members.
  void look();
  bool searches() const { return searches_; }
  bool has_looked() const { return looks_ > 0 || stage_ > 0; }
  std::size_t epochs() const;  // of the member that took longest, all in all
  std::size_t epochs_of_stage() const { return looks_ == 0 ? 0 : epochs_at(looks_ - 1); }
  double score() const { return best_.score; }  // mean NLL of the parts at the best look
  // What the score would be if all looks that are left gained as much as the last one. Known after a few.
  std::optional<double> could_reach() const;
  bool has_settled() const { return settled_; }  // the search, before its epochs were used up
  // What was believed of the parts then, member by member.
  const Missed& held_out() const { return best_.missed; }
  const Likelihood& likelihood() const { return *best_.likelihood; }

  // The noise of all rows; with noise that is one number there is nothing to learn beyond the look.
  void learn_noise(std::uint64_t seed, const Data& rows);
  // The parts once more, with the noise.
  Prediction held_out_prediction() const;

  // Before members rehearse, and before they refine: they go on from the best look, or from the rehearsal.
  void begin_refining();
  // After learn_noise(). A member that knows how large the noise is where fits rows otherwise than one that searches, and
  // what is missed by those that predict is what counts.
  void rehearse(std::size_t member, std::size_t epochs, const GoOn& go_on,
                const AfterEpoch& after_epoch);
  // After all members: what they missed is what they miss now.
  void end_rehearsal();
  // With all rows, after learn_noise().
  void refine(std::size_t member, const Data& rows, std::size_t epochs, const GoOn& go_on,
              const AfterEpoch& after_epoch);
  // `step_left`, if given: see JointCertificate.
  JointKnowledge finish(std::size_t member, const Data& rows, bool keep_ledger,
                        double* step_left = nullptr) const;
  // Of a member that is finished.
  Certificate certify(std::size_t member, const Data& rows, const JointKnowledge& known,
                      double step_left) const;
  Bounded bounded(std::size_t member, const Data& rows) const;
  std::vector<double> train_nll(std::size_t member) const;  // after each epoch

  // Everything that does not follow from rows and options, when no member is on its way; and what one that is on its way
  // has changed since.
  Arrays store() const;
  void restore(Arrays all);
  Arrays store_member(std::size_t member) const;
  void restore_member(std::size_t m, Arrays own);

 private:
  struct Member {
    JointNetwork network, best;
    std::unique_ptr<Likelihood> likelihood;
    NetworkFit fit = {};
    OutputMoments moments = {};       // of its part
    std::vector<double> scales = {};  // of the noise, by row; empty: that of the likelihood
    std::vector<double> before = {};  // training NLL of the epochs of earlier stages
  };
  struct Best {
    double score = HUGE_VAL;
    double last_gain = 0;  // of the score, at the last look
    std::size_t looks_since = 0;
    Missed missed = {};
    std::unique_ptr<Likelihood> likelihood = {};
  };

  Best seen() const;
  bool noise_varies() const;
  std::size_t most_epochs() const;
  std::size_t epochs_at(std::size_t look) const;
  void go_back_to_best();
  JointSettings settings_for(std::size_t epochs, const GoOn& go_on) const;
  void advance(Member& member, const Data& rows, RowTerms& terms, const JointSettings& settings,
               const AfterEpoch& after_epoch, JointPosterior* reached);
  std::vector<double> scales_of(const Member& member, const Data& rows) const;
  std::unique_ptr<RowTerms> terms_of(const std::vector<double>& scales, const Data& rows) const;

  Architecture architecture_;
  ShapeOptions options_;
  std::vector<Member> members_;
  std::span<const ShapePart> parts_;
  std::size_t stage_ = 0;  // how often there were more rows
  std::size_t looks_ = 0;  // of the stage
  bool searches_ = false, settled_ = false;
  Best best_;
  std::optional<NoiseNetwork> noise_;
};

}  // namespace dma::detail
