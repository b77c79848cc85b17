#include "baselines/laplace.h"

#include <gtest/gtest.h>

#include <limits>

namespace dma::baselines {
namespace {

TEST(Laplace, InvertsTheDiagonal) {
  const std::vector<double> map = {1, -2};
  const Laplace result = laplace(map, std::vector<double>{4, 10}, std::vector<double>{1, 1});
  EXPECT_EQ(result.mean, map);
  EXPECT_EQ(result.variance, (std::vector<double>{0.25, 0.1}));
  EXPECT_EQ(result.negative_curvatures, 0U);
}

TEST(Laplace, CountsWhereNoGaussianFits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Laplace result =
      laplace(std::vector<double>{0, 0, 0, 0}, std::vector<double>{-4, 0, nan, 8},
              std::vector<double>{1, 2, 4, 5});
  EXPECT_EQ(result.variance, (std::vector<double>{1, 0.5, 0.25, 0.125}));
  EXPECT_EQ(result.negative_curvatures, 3U);
}

}  // namespace
}  // namespace dma::baselines
