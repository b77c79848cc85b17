// The stages of a joint fit, whatever number of epochs is asked for.
#include "belief/joint_plan.h"

#include <gtest/gtest.h>

namespace dma::detail {
namespace {

using Part = JointStage::Part;

TEST(JointPlan, IsTheUsualOneIfNothingIsAskedFor) {
  EXPECT_EQ(plan_fit(false, true, 0), (std::vector<JointStage>{{Part::all_rows, 40, false},
                                                               {Part::noise, 30, false},
                                                               {Part::function, 10, true},
                                                               {Part::noise, 15, false},
                                                               {Part::function, 10, true}}));
  EXPECT_EQ(plan_fit(true, true, 0), (std::vector<JointStage>{{Part::some_rows, 60, false},
                                                              {Part::all_rows, 12, true},
                                                              {Part::noise, 20, false},
                                                              {Part::function, 6, true}}));
  EXPECT_EQ(plan_fit(false, false, 0), (std::vector<JointStage>{{Part::all_rows, 40, false}}));
  EXPECT_EQ(plan_refit(true, 0),
            (std::vector<JointStage>{
                {Part::all_rows, 40, true}, {Part::noise, 15, false}, {Part::function, 10, true}}));
}

TEST(JointPlan, TakesAsManyEpochsAsAskedFor) {
  for (std::size_t most = 1; most < 300; ++most) {
    for (const bool varies : {false, true}) {
      for (const auto& plan : {plan_fit(false, varies, most), plan_fit(true, varies, most),
                               plan_refit(varies, most)}) {
        EXPECT_EQ(epochs_of(plan), most);
        for (std::size_t s = 0; s < plan.size(); ++s) {
          EXPECT_GT(plan[s].epochs, 0U);
          // A round has both its parts.
          if (plan[s].part == Part::noise) {
            ASSERT_LT(s + 1, plan.size());
            EXPECT_EQ(plan[s + 1].part, Part::function);
          }
        }
      }
    }
  }
}

TEST(JointPlan, GivesWhatIsBeyondTheUsualToTheFirstStage) {
  const auto usual = plan_fit(false, true, 0);
  auto more = plan_fit(false, true, epochs_of(usual) + 50);
  EXPECT_EQ(more.front().epochs, 90U);
  more.front().epochs = 40;
  EXPECT_EQ(more, usual);
}

}  // namespace
}  // namespace dma::detail
