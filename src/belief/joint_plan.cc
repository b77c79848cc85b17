#include "belief/joint_plan.h"

#include <utility>

namespace dma::detail {
namespace {

using Part = JointStage::Part;

// The noise is learnt given the function, then the function given the noise. A round has both or none.
struct Round {
  std::size_t noise_epochs, function_epochs;
};

std::vector<JointStage> with_rounds(std::vector<JointStage> stages,
                                    const std::vector<Round>& rounds) {
  for (const Round& round : rounds) {
    if (round.noise_epochs == 0 || round.function_epochs == 0) continue;
    stages.push_back({Part::noise, round.noise_epochs, false});
    stages.push_back({Part::function, round.function_epochs, true});
  }
  return stages;
}

std::vector<JointStage> plan(std::vector<JointStage> stages, std::vector<Round> rounds,
                             std::size_t most_epochs) {
  const std::size_t usual = epochs_of(with_rounds(stages, rounds));
  if (most_epochs == 0) return with_rounds(std::move(stages), rounds);
  const auto shrink = [&](std::size_t& epochs) {
    if (most_epochs < usual) epochs = epochs * most_epochs / usual;
  };
  for (Round& round : rounds) {
    shrink(round.noise_epochs);
    shrink(round.function_epochs);
  }
  for (JointStage& stage : stages) shrink(stage.epochs);
  if (stages.size() > 1 && stages.back().epochs == 0) stages.pop_back();
  std::vector<JointStage> result = with_rounds(std::move(stages), rounds);
  result.front().epochs += most_epochs - epochs_of(result);
  return result;
}

}  // namespace

std::size_t epochs_of(const std::vector<JointStage>& stages) {
  std::size_t sum = 0;
  for (const JointStage& stage : stages) sum += stage.epochs;
  return sum;
}

// The numbers were found on training rows held out from training (docs/default-method.md).
std::vector<JointStage> plan_fit(bool many_rows, bool varies, std::size_t most_epochs) {
  std::vector<JointStage> stages{{Part::all_rows, 40, false}};
  std::vector<Round> rounds{{30, 10}, {15, 10}};
  if (many_rows) {
    stages = {{Part::some_rows, 60, false}, {Part::all_rows, 12, true}};
    rounds = {{20, 6}};
  }
  if (!varies) rounds.clear();
  return plan(std::move(stages), std::move(rounds), most_epochs);
}

std::vector<JointStage> plan_refit(bool varies, std::size_t most_epochs) {
  std::vector<Round> rounds;
  if (varies) rounds = {{15, 10}};
  return plan({{Part::all_rows, 40, true}}, std::move(rounds), most_epochs);
}

}  // namespace dma::detail
