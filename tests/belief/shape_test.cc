// Networks of one shape that hold a part of the rows out.
#include "belief/joint_shape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <dma/likelihood/gaussian.h>
#include <dma/special/random.h>

#include "belief/calibration.h"
#include "belief/joint_predictor.h"

namespace dma::detail {
namespace {

const Architecture deep{.widths = {4, 20, 20, 1}, .slopes = {0}, .bias = {true}};

// y = sin(2 a) + N(0, noise(a)^2); three columns say nothing.
Rows wave(std::size_t count, std::uint64_t seed, const std::function<double(double)>& noise) {
  special::Random random(seed);
  Rows rows;
  for (std::size_t n = 0; n < count; ++n) {
    const double a = random.uniform(-1.7, 1.7);
    const std::vector<double> inputs{a, random.normal(), random.normal(), random.normal()};
    const std::vector<double> target{std::sin(2 * a) + noise(a) * random.normal()};
    rows.append({inputs, target, 1});
  }
  return rows;
}

// Member m does not see every third row, from the m-th on.
std::vector<ShapePart> parts_of(const Rows& rows) {
  std::vector<ShapePart> parts(3);
  for (std::size_t n = 0; n < rows.rows; ++n) {
    for (std::size_t m = 0; m < 3; ++m) {
      (n % 3 == m ? parts[m].held : parts[m].learnt).append(rows.data().part(n, 1));
    }
  }
  return parts;
}

ShapeOptions options(std::size_t epochs = 60) {
  return {.seeds = {1, 2, 3},
          .by_column = {true, true, true},
          .first_epochs = epochs,
          .later_epochs = 6};
}

std::shared_ptr<const Likelihood> learnt_noise() { return gaussian({{0.1}, true}); }

const ShapeFit::GoOn always = [] { return true; };

void search(ShapeFit& shape) {
  while (shape.searches()) {
    for (std::size_t m = 0; m < shape.members(); ++m) shape.search(m, always, {});
    shape.look();
  }
}

// A deep network on noisy rows: what it has learnt it hardly misses, what it has not it misses by the noise.
TEST(Shape, NoiseIsThatOfRowsThatWereNotLearnt) {
  const Rows rows = wave(240, 1, [](double) { return 0.6; });
  const std::vector<ShapePart> parts = parts_of(rows);
  ShapeFit shape(deep, *learnt_noise(), options(300));
  shape.search_with(parts);
  search(shape);
  EXPECT_TRUE(shape.has_settled());
  EXPECT_NEAR(std::sqrt(noise_variance(shape.likelihood()).front()), 0.6, 0.1);
  const Prediction held = shape.held_out_prediction();
  double squares = 0;
  double variances = 0;
  for (std::size_t n = 0; n < 240; ++n) {
    squares += std::pow(shape.held_out().targets[n] - held.mean[n], 2);
    variances += held.epistemic_variance[n] + held.noise_variance[n];
  }
  EXPECT_NEAR(squares / variances, 1, 0.25);
}

TEST(Shape, NoiseFollowsTheInputs) {
  const auto noise = [](double a) { return a < 0 ? 0.1 : 0.8; };
  const Rows rows = wave(450, 2, noise);
  const std::vector<ShapePart> parts = parts_of(rows);
  ShapeFit shape(deep, *learnt_noise(), options());
  shape.search_with(parts);
  search(shape);
  shape.learn_noise(7, rows.data());
  const Prediction held = shape.held_out_prediction();
  double quiet = 0;
  double loud = 0;
  double count = 0;
  for (std::size_t n = 0; n < 450; ++n) {
    const bool left = shape.held_out().inputs[4 * n] < 0;
    (left ? quiet : loud) += std::log(held.noise_variance[n]) / 2;
    count += left ? 1 : 0;
  }
  EXPECT_NEAR(std::exp(quiet / count), 0.1, 0.05);
  EXPECT_NEAR(std::exp(loud / (450 - count)), 0.8, 0.2);
}

// Members that know where the noise is small fit the rows there, and miss those that they have not learnt by less. What
// they miss then is what the noise is learnt from again; the parts stay unseen.
TEST(Shape, RehearsesWithTheNoise) {
  const Rows rows = wave(450, 2, [](double a) { return a < 0 ? 0.02 : 1; });
  const std::vector<ShapePart> parts = parts_of(rows);
  ShapeFit shape(deep, *learnt_noise(), options());
  shape.search_with(parts);
  search(shape);
  const auto missed = [&](bool left) {
    double sum = 0;
    double count = 0;
    const Missed& held = shape.held_out();
    for (std::size_t n = 0; n < held.rows(); ++n) {
      if ((held.inputs[4 * n] < 0) != left) continue;
      sum += std::pow(held.targets[n] - held.values[n], 2);
      ++count;
    }
    return std::sqrt(sum / count);
  };
  const double quiet = missed(true);
  const std::size_t epochs = shape.epochs();
  shape.learn_noise(7, rows.data());
  shape.begin_refining();
  for (std::size_t m = 0; m < 3; ++m) shape.rehearse(m, 12, always, {});
  shape.end_rehearsal();
  EXPECT_LT(missed(true), 0.6 * quiet);
  EXPECT_GT(missed(false), 0.9);
  EXPECT_GT(shape.epochs(), epochs);
  shape.learn_noise(7, rows.data());
  const Prediction held = shape.held_out_prediction();
  EXPECT_EQ(held.mean, shape.held_out().values);
  // Refining goes on from there.
  shape.begin_refining();
  shape.refine(0, rows.data(), 1, always, {});
  EXPECT_EQ(shape.held_out().values, held.mean);
}

TEST(Shape, RowsAreLearntWithLessThanWhatIsSaidOfTheirNoise) {
  special::Random random(3);
  Missed missed;
  for (int n = 0; n < 400; ++n) {
    const double input = random.uniform(-1, 1);
    missed.inputs.push_back(input);
    missed.values.push_back(0);
    missed.variances.push_back(0);
    missed.targets.push_back(std::exp(input) * random.normal());
    missed.squares.push_back(std::pow(missed.targets.back(), 2));
  }
  const NoiseNetwork learnt =
      learn_noise(missed, {.widths = {1, 3, 1}, .slopes = {0.1}, .bias = {true}}, true, 1);
  const auto learn_with = [&](const NoiseInputs& known) {
    return noise_to_learn_with(learnt.log_noise, known, missed.inputs, missed.values);
  };
  NoiseInputs alone = learnt.inputs;  // as up to format 14
  alone.log_mean.reset();
  const std::vector<double> own = learn_with(alone);
  const std::vector<double> learnt_with = learn_with(learnt.inputs);
  double log_mean = 0;
  for (const double noise : own) log_mean += std::log(noise) / 400;
  for (std::size_t n = 0; n < 400; ++n) {
    const double wanted = std::pow(own[n], 0.75) * std::exp(log_mean / 4);
    EXPECT_NEAR(learnt_with[n] / wanted, 1, 1e-12);
  }
  const auto [least, most] = std::minmax_element(own.begin(), own.end());
  EXPECT_GT(*most, 10 * *least);
}

// A linearised noise network far out, or with hundreds of columns.
TEST(Shape, NoiseIsNeverInfinite) {
  const Prediction unknown = predictive(*learnt_noise(), {{0}, {1}, {}, {-1}, {1e4}});
  EXPECT_DOUBLE_EQ(unknown.noise_variance[0], std::exp(-1 + 4 / 2.0));
  EXPECT_DOUBLE_EQ(unknown.noise_spread[0], 2);
  const Prediction known = predictive(*learnt_noise(), {{0}, {1}, {}, {-1}, {0.5}});
  EXPECT_DOUBLE_EQ(known.noise_variance[0], std::exp(-1 + 0.5 / 2));
}

// With a budget that ends after a worse look, the shape is what it was at the best.
TEST(Shape, GoesBackToTheBestLook) {
  const Rows rows = wave(90, 3, [](double) { return 0.8; });
  const std::vector<ShapePart> parts = parts_of(rows);
  ShapeOptions patient = options(60);
  patient.tolerance = 0;
  ShapeFit shape(deep, *learnt_noise(), patient);
  shape.search_with(parts);
  double best = HUGE_VAL;
  double last = 0;
  while (shape.searches()) {
    for (std::size_t m = 0; m < 3; ++m) shape.search(m, always, {});
    const double before = shape.score();
    shape.look();
    best = std::min(best, shape.score());
    last = shape.score();
    EXPECT_LE(shape.score(), before);
  }
  EXPECT_EQ(last, best);
  EXPECT_EQ(shape.epochs(), 60U);
  // What is held out was predicted at the best look, so it has its score.
  shape.begin_refining();
  EXPECT_EQ(nll_with_tails(shape.held_out().misses(), noise_variance(shape.likelihood()).front()),
            best);
}

// More rows for the same members: they go on, and predict what they still do not see better.
TEST(Shape, GoesOnWithMoreRows) {
  const Rows rows = wave(600, 4, [](double) { return 0.1; });
  const std::vector<ShapePart> all = parts_of(rows);
  std::vector<ShapePart> few = all;
  for (ShapePart& part : few) {
    const Data first = part.learnt.data().part(0, 30);
    Rows some;
    some.append(first);
    part.learnt = some;
  }
  ShapeFit shape(deep, *learnt_noise(), options());
  shape.search_with(few);
  search(shape);
  const double with_few = shape.score();
  shape.search_with(all);
  EXPECT_TRUE(shape.searches());
  search(shape);
  EXPECT_LT(shape.score(), with_few - 0.1);
  EXPECT_NEAR(shape.score(), std::log(0.1 * std::sqrt(2 * std::numbers::pi)) + 0.5,
              0.05);  // the noise's own
}

// Few rows leave members unsure, and rows that they miss by much cost them little: the score may get worse with more rows,
// which is no reason to go back. Here the further rows are wrong.
TEST(Shape, IsMeasuredAnewWithMoreRows) {
  const Rows rows = wave(240, 6, [](double) { return 0.1; });
  const std::vector<ShapePart> few = parts_of(rows);
  std::vector<ShapePart> more = few;
  for (ShapePart& part : more) part.learnt.append(wave(80, 7, [](double) { return 3; }).data());
  ShapeFit shape(deep, *learnt_noise(), options(10));
  shape.search_with(few);
  search(shape);
  const double with_few = shape.score();
  const std::vector<double> before = shape.held_out().values;
  shape.search_with(more);
  search(shape);
  EXPECT_GT(shape.score(), with_few + 0.1);
  EXPECT_NE(shape.held_out().values, before);
}

// After six of eight looks, at epochs 30, 40 and 50: two more gains like the last.
TEST(Shape, KnowsWhatItCouldReach) {
  const Rows rows = wave(240, 8, [](double) { return 0.02; });
  const std::vector<ShapePart> parts = parts_of(rows);
  ShapeOptions patient = options(50);
  patient.tolerance = 0;
  ShapeFit shape(deep, *learnt_noise(), patient);
  shape.search_with(parts);
  double before = HUGE_VAL;
  for (int look = 1; look <= 6; ++look) {
    EXPECT_FALSE(shape.could_reach());
    before = shape.score();
    for (std::size_t m = 0; m < 3; ++m) shape.search(m, always, {});
    shape.look();
  }
  EXPECT_LT(shape.score(), before);
  EXPECT_NEAR(shape.could_reach().value(), shape.score() - 2 * (before - shape.score()), 1e-12);
}

// Stored between looks and in the middle of a search, it goes on to the same bits.
TEST(Shape, GoesOnFromWhereItWasStored) {
  const Rows rows = wave(60, 5, [](double) { return 0.3; });
  const std::vector<ShapePart> parts = parts_of(rows);
  ShapeFit shape(deep, *learnt_noise(), options(15));
  shape.search_with(parts);
  for (std::size_t m = 0; m < 3; ++m) shape.search(m, always, {});
  shape.look();
  const Arrays between = shape.store();
  Arrays on_its_way;
  std::size_t epochs = 0;
  shape.search(0, always, [&] {
    if (++epochs == 2) on_its_way = shape.store_member(0);
  });
  ShapeFit other(deep, *learnt_noise(), options(15));
  other.restore(between);
  other.restore_member(0, on_its_way);
  other.attach(parts);
  other.search(0, always, {});
  EXPECT_EQ(other.train_nll(0), shape.train_nll(0));
  EXPECT_EQ(other.train_nll(0).size(), 10U);
}

}  // namespace
}  // namespace dma::detail
