// The effects of a text column with many values.
#include <dma/regressor/regressor.h>
#include <dma/special/random.h>

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "regressor/effects.h"
#include "regressor/fit.h"

namespace dma {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

Column text(const std::string& name, const std::vector<std::string>& cells) {
  Column column{.name = name, .is_text = true};
  std::map<std::string, std::uint32_t> codes;
  for (const std::string& cell : cells) {
    const auto [entry, is_new] = codes.emplace(cell, codes.size());
    if (is_new) column.values.push_back(cell);
    column.codes.push_back(entry->second);
  }
  return column;
}

std::string name_of_city(std::size_t city) { return "city" + std::to_string(city); }

// y = slope a + u_city + e, with known effects. City c has 1 + c % 5 rows, but every tenth has 40.
struct Cities {
  std::vector<double> effects;
  double between, within, slope;

  Cities(std::size_t count, double own_between, double own_within, double own_slope)
      : between(own_between), within(own_within), slope(own_slope) {
    special::Random random(7);
    for (std::size_t c = 0; c < count; ++c) effects.push_back(between * random.normal());
  }

  static bool is_frequent(std::size_t city) { return city % 10 == 0; }
  static std::size_t rows_of(std::size_t city) { return is_frequent(city) ? 40 : 1 + city % 5; }

  Table rows(const std::vector<std::size_t>& cities, std::uint64_t seed) const {
    special::Random random(seed);
    std::vector<std::string> names;
    std::vector<double> a;
    std::vector<double> y;
    for (const std::size_t city : cities) {
      names.push_back(name_of_city(city));
      a.push_back(random.normal());
      y.push_back(slope * a.back() + effects[city] + within * random.normal());
    }
    return {
        .columns = {{.name = "a", .numbers = a}, text("city", names), {.name = "y", .numbers = y}}};
  }

  Table training() const {
    std::vector<std::size_t> cities;
    for (std::size_t c = 0; c < effects.size(); ++c) cities.insert(cities.end(), rows_of(c), c);
    return rows(cities, 1);
  }
};

EncoderOptions options_for(const Table& table) {
  return {.targets = {"y"}, .weight = table.find("w") ? "w" : "", .effects = true};
}

// Rows as they are learnt, with what was learnt of them on the way.
struct Learnt {
  Encoder encoder;
  EncodedRows rows;
  std::vector<std::size_t> places;  // of the cities

  explicit Learnt(const Table& table)
      : encoder(Encoder::fit(table, options_for(table))), rows(encoder.encode_values(table)) {
    detail::merge_copies(rows);
    for (std::size_t n = 0; n < rows.rows; ++n)
      places.push_back(static_cast<std::size_t>(input(n, 0)));
    detail::learn_effects(encoder, rows);
  }
  std::size_t first() const { return encoder.width() - 2; }
  double input(std::size_t row, std::size_t k) const {
    return rows.inputs[row * encoder.width() + first() + k];
  }
  double weight(std::size_t row) const { return rows.weights.empty() ? 1 : rows.weights[row]; }
  const FeatureColumn& city() const { return encoder.features.back(); }
  const Effects& effects() const { return city().effects.front(); }
};

Table only_city(Table table) {
  table.columns.erase(table.columns.begin());
  return table;
}

// Of rows with one value each: N(mean, within^2 W^-1 + between^2 [same value]), written out.
struct Model {
  Vector y;
  Matrix same, noise;

  explicit Model(const Learnt& learnt) : y(learnt.rows.rows) {
    const auto rows = y.size();
    same = noise = Matrix::Zero(rows, rows);
    for (Eigen::Index n = 0; n < rows; ++n) {
      y[n] = learnt.rows.targets[static_cast<std::size_t>(n)];
      noise(n, n) = 1 / learnt.weight(static_cast<std::size_t>(n));
      for (Eigen::Index m = 0; m < rows; ++m) {
        same(n, m) =
            learnt.places[static_cast<std::size_t>(n)] == learnt.places[static_cast<std::size_t>(m)]
                ? 1
                : 0;
      }
    }
  }
  Matrix covariance(double between, double within) const {
    return within * within * noise + between * between * same;
  }
  // At the most likely mean.
  double mean(const Matrix& covariance) const {
    const Vector ones = covariance.ldlt().solve(Vector::Ones(y.size()));
    return ones.dot(y) / ones.sum();
  }
  double log_likelihood(double between, double within) const {
    const Matrix all = covariance(between, within);
    const Vector apart = y - Vector::Constant(y.size(), mean(all));
    const Eigen::LLT<Matrix> factor(all);
    const double log_root = factor.matrixL().toDenseMatrix().diagonal().array().log().sum();
    return -log_root - apart.dot(factor.solve(apart)) / 2;
  }
};

TEST(Effects, AreThePosteriorOfARandomEffect) {
  const Effects effects{0.7, 1.3, {}};
  for (const int count : {0, 1, 4, 30}) {
    special::Random random(3);
    Vector r(count);
    for (double& one : r) one = random.normal();
    const double tau2 = effects.between * effects.between;
    const Matrix covariance = Matrix::Identity(count, count) * effects.within * effects.within +
                              Matrix::Constant(count, count, tau2);
    const Vector across = Vector::Constant(count, tau2);
    const double mean = count == 0 ? 0 : across.dot(covariance.ldlt().solve(r));
    const double variance = count == 0 ? tau2 : tau2 - across.dot(covariance.ldlt().solve(across));
    const Effect effect = effect_of(effects, count, r.sum());
    EXPECT_NEAR(effect.mean * effects.between, mean, 1e-12);
    EXPECT_NEAR(std::pow(effect.deviation * effects.between, 2), variance, 1e-12);
  }
}

// Every row sees what all rows but its own say, copies included, to the last digits of the written-out model.
TEST(Effects, OfARowToLearnAreThoseOfAllOtherRows) {
  Table table = only_city(Cities(60, 1, 0.5, 0).training());
  Column weights{.name = "w"};
  for (std::size_t n = 0; n < table.rows(); ++n)
    weights.numbers.push_back(1 + 0.5 * static_cast<double>(n % 3));
  table.columns.push_back(weights);
  const Learnt learnt(table);
  const Model model(learnt);
  const Effects& effects = learnt.effects();
  ASSERT_GT(effects.between, 0);
  const Matrix covariance = model.covariance(effects.between, effects.within);
  const double mean = model.mean(covariance);
  for (Eigen::Index n = 0; n < model.y.size(); n += 31) {
    const auto rows = model.y.size();
    Matrix others = covariance;
    others(n, n) = 1e12;  // says nothing
    const Vector across = effects.between * effects.between * model.same.col(n);
    Vector apart = model.y - Vector::Constant(rows, mean);
    apart[n] = 0;
    Vector own = across;
    own[n] = 0;
    const double expected = own.dot(others.ldlt().solve(apart));
    const double variance = effects.between * effects.between - own.dot(others.ldlt().solve(own));
    const auto row = static_cast<std::size_t>(n);
    EXPECT_NEAR(learnt.input(row, 0) * effects.between, expected, 1e-9);
    EXPECT_NEAR(learnt.input(row, 1) * effects.between, std::sqrt(variance), 1e-9);
  }
}

TEST(Effects, BetweenAndWithinAreTheMostLikely) {
  const Learnt learnt(only_city(Cities(60, 1, 0.5, 0).training()));
  const Model model(learnt);
  const auto& [between, within, sums] = learnt.effects();
  const double best = model.log_likelihood(between, within);
  for (const double factor : {0.98, 1.02}) {
    EXPECT_LT(model.log_likelihood(factor * between, within), best);
    EXPECT_LT(model.log_likelihood(between, factor * within), best);
  }
}

// What other columns explain is not noise: of a slope of 3 the cities would otherwise hardly be seen.
TEST(Effects, AreOfWhatOtherColumnsLeave) {
  const Cities cities(300, 0.5, 0.5, 3);
  const Learnt learnt(cities.training());
  const double deviation = learnt.encoder.targets.front().deviation;
  EXPECT_NEAR(learnt.effects().between * deviation, cities.between, 0.1 * cities.between);
  EXPECT_NEAR(learnt.effects().within * deviation, cities.within, 0.05 * cities.within);
}

TEST(Effects, AreNoneWhereValuesDoNotDiffer) {
  special::Random random(5);
  std::vector<std::string> names;
  std::vector<double> y;
  for (std::size_t n = 0; n < 600; ++n) {
    names.push_back(name_of_city(n % 60));
    // Each city has every number.
    y.push_back(static_cast<double>(n / 60));
  }
  const Learnt learnt({.columns = {text("city", names), {.name = "y", .numbers = y}}});
  EXPECT_EQ(learnt.effects().between, 0);
  EXPECT_EQ(learnt.input(0, 0), 0);
  EXPECT_EQ(learnt.input(0, 1), 0);
}

TEST(Effects, OfEachRowTwiceAreThoseOfWeightsOf2) {
  Table once = Cities(60, 1, 0.5, 1).training();
  Table twice = once;
  for (Column& column : twice.columns) {
    column.numbers.insert(column.numbers.end(), column.numbers.begin(), column.numbers.end());
    column.codes.insert(column.codes.end(), column.codes.begin(), column.codes.end());
  }
  once.columns.push_back({.name = "w", .numbers = std::vector<double>(once.rows(), 2)});
  const Learnt weighted(once);
  const Learnt copied(twice);
  ASSERT_EQ(weighted.rows.rows, copied.rows.rows);
  EXPECT_NEAR(weighted.effects().between, copied.effects().between, 1e-9);
  std::map<std::uint64_t, double> means;
  for (std::size_t n = 0; n < weighted.rows.rows; ++n)
    means[weighted.rows.hashes[n]] = weighted.input(n, 0);
  for (std::size_t n = 0; n < copied.rows.rows; ++n) {
    EXPECT_NEAR(copied.input(n, 0), means.at(copied.rows.hashes[n]), 1e-9);
  }
}

TEST(Effects, ColumnsWithUpTo50ValuesHaveAnInputForEach) {
  const Table few = Cities(50, 1, 0.5, 0).training();
  EXPECT_FALSE(Encoder::fit(few, options_for(few)).has_effects());
  const Table more = Cities(51, 1, 0.5, 0).training();
  EXPECT_TRUE(Encoder::fit(more, options_for(more)).has_effects());
  const RegressorOptions options{.target = "y", .belief = BeliefKind::independent};
  EXPECT_FALSE(Regressor::encoder_for(more, options).has_effects());
}

RegressorOptions quick(TargetKind kind = TargetKind::number) {
  return {.target = "y", .kind = kind, .hidden = {5}, .epochs = 40, .ensemble = 3};
}

const Cities& cities() {
  static const Cities known(200, 1, 0.5, 1);
  return known;
}
const Regressor& fitted() {
  static const Regressor model = Regressor::fit(cities().training(), quick());
  return model;
}

// Two new rows of every city.
Table new_rows() {
  std::vector<std::size_t> twice;
  for (std::size_t c = 0; c < cities().effects.size(); ++c) twice.insert(twice.end(), 2, c);
  return cities().rows(twice, 99);
}

double width(const Predicted& p) { return p.upper() - p.lower(); }

TEST(Effects, OfRareValuesAreLessCertain) {
  const std::vector<std::size_t> rows{0, 1, 5};  // 40 rows, 2 rows, 1 row
  Table table = cities().rows(rows, 3);
  table.columns[1].values[2] = "a new one";
  std::fill(table.columns[0].numbers.begin(), table.columns[0].numbers.end(), 0.0);
  const auto said = fitted().predict(table);
  EXPECT_LT(1.2 * width(said[0]), width(said[1]));
  EXPECT_LT(1.2 * width(said[1]), width(said[2]));
  EXPECT_LT(2 * said[0].epistemic_std, said[1].epistemic_std);
  // What is not known of an effect is not noise, and the noise is the same everywhere.
  for (const Predicted& one : said) EXPECT_NEAR(one.noise_std, cities().within, 0.15);
  EXPECT_NEAR(said[2].epistemic_std, cities().between, 0.25);
}

TEST(Effects, CoverRareAndFrequentValues) {
  const Table rows = new_rows();
  const auto said = fitted().predict(rows);
  std::map<bool, std::pair<double, double>> inside;
  double squares = 0;
  for (std::size_t n = 0; n < said.size(); ++n) {
    const double y = rows.columns[2].numbers[n];
    auto& [hits, all] = inside[Cities::is_frequent(n / 2)];
    hits += said[n].lower() <= y && y <= said[n].upper() ? 1 : 0;
    ++all;
    squares += std::pow((y - said[n].mean) / said[n].stddev(), 2);
  }
  EXPECT_NEAR(inside[true].first / inside[true].second, 0.95, 0.08);    // of 40
  EXPECT_NEAR(inside[false].first / inside[false].second, 0.95, 0.03);  // of 360
  EXPECT_NEAR(squares / static_cast<double>(said.size()), 1, 0.2);
}

// Draws are spread as the predictions are, and rows of one city move together.
TEST(Effects, AreDrawnWithTheFunctions) {
  Table table = cities().rows({1, 1, 2}, 3);
  std::fill(table.columns[0].numbers.begin(), table.columns[0].numbers.end(), 0.0);
  const auto said = fitted().predict(table);
  constexpr std::size_t count = 2000;
  const auto drawn = fitted().sample(table, count, 1, false);
  double square = 0;
  double apart = 0;
  for (std::size_t s = 0; s < count; ++s) {
    square += std::pow(drawn[3 * s + 2] - said[2].mean, 2) / count;
    apart += std::pow(drawn[3 * s] - drawn[3 * s + 1], 2) / count;
  }
  EXPECT_NEAR(std::sqrt(square), said[2].epistemic_std, 0.1 * said[2].epistemic_std);
  EXPECT_NEAR(apart, 0, 1e-12);
}

TEST(Effects, ANewValueIsCountedAndNotMixed) {
  Table table = cities().rows({0, 1}, 3);
  table.columns[1].values[1] = "a new one";
  const EncodedRows rows = fitted().encoder().encode_inputs(table);
  EXPECT_TRUE(rows.unseen.empty());
  ASSERT_EQ(rows.unlike.size(), 1U);
  EXPECT_EQ(rows.unlike.front().example, "a new one");
}

TEST(Effects, StandInTheFile) {
  const Regressor again = Regressor::from_bytes(fitted().to_bytes());
  EXPECT_EQ(again.to_bytes(), fitted().to_bytes());
  const auto before = fitted().predict(new_rows());
  const auto after = again.predict(new_rows());
  for (std::size_t n = 0; n < before.size(); ++n) EXPECT_EQ(before[n].upper(), after[n].upper());
}

// Rows that come without the old ones are learnt by the effects of the fit. With the old ones the effects are learnt anew.
TEST(Effects, AreThoseOfTheFitUntilAllRowsAreLearntAgain) {
  const Table training = cities().training();
  const Table more = new_rows();
  Regressor model = fitted();
  model.update(more);
  EXPECT_EQ(model.encoder().features[1].value_weights,
            fitted().encoder().features[1].value_weights);
  Regressor anew = fitted();
  anew.update(more, {.data = &training});
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(anew.encoder().features[1].value_weights[k],
              fitted().encoder().features[1].value_weights[k] + 2);
  }
}

TEST(Effects, AreForgottenWithTheirRows) {
  const Table training = cities().training();
  const Table gone = cities().rows({0}, 1);  // the first row of training
  Regressor model = fitted();
  model.forget_rows(gone, {.data = &training});
  const auto weight = [](const Regressor& of) {
    const FeatureColumn& city = of.encoder().features[1];
    const auto place = std::find(city.categories.begin(), city.categories.end(), name_of_city(0));
    return city.value_weights[static_cast<std::size_t>(place - city.categories.begin())];
  };
  EXPECT_EQ(weight(model), weight(fitted()) - 1);
}

TEST(Effects, AreThereForEveryKindOfTarget) {
  Table table = Cities(60, 1, 0.3, 1).training();
  const auto improves = [&](TargetKind kind, const std::vector<double>& targets) {
    table.columns[2] = {.name = "y", .numbers = targets};
    RegressorOptions dropped = quick(kind);
    dropped.epochs = 20;
    dropped.ensemble = 2;
    const double with = Regressor::fit(table, dropped).report().cavity_nll();
    dropped.drop = {"city"};
    return Regressor::fit(table, dropped).report().cavity_nll() - with;
  };
  const std::vector<double> y = table.columns[2].numbers;
  std::vector<double> amounts;
  std::vector<double> counts;
  std::vector<double> classes;
  std::vector<double> three;
  for (const double one : y) {
    amounts.push_back(std::exp(one));
    counts.push_back(std::floor(std::exp(one)));
    classes.push_back(one > 0 ? 1 : 0);
    three.push_back(one > 0.5 ? 2 : one > -0.5 ? 1 : 0);
  }
  EXPECT_GT(improves(TargetKind::amount, amounts), 0.2);
  EXPECT_GT(improves(TargetKind::count, counts), 0.1);
  EXPECT_GT(improves(TargetKind::classes, classes), 0.1);
  EXPECT_GT(improves(TargetKind::classes, three), 0.15);
}

}  // namespace
}  // namespace dma
