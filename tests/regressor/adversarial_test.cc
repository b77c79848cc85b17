// Tables that nobody would draw from a normal distribution: what holds of a model holds of theirs too, and a table that
// cannot be learnt is refused in one line that says why.
#include <dma/regressor/regressor.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include <dma/special/random.h>

#include "regressor/invariants.h"
#include "regressor/wave_table.h"
#include "sanitized.h"

namespace dma {
namespace {

using test::expect_finite;
using test::expect_sound;
using test::wave_table;
using Numbers = std::vector<double>;

// ---------------------------------------------------------------------------------------- beliefs

struct Kind {
  const char* name;
  BeliefKind belief;
  Rule rule = Rule::linear;
  bool single_precision = false;

  RegressorOptions options() const {
    return {.target = "y", .belief = belief, .rule = rule, .single_precision = single_precision};
  }
};

const std::vector<Kind> kinds{
    {"joint", BeliefKind::joint},
    {"linear", BeliefKind::independent},
    {"direct", BeliefKind::independent, Rule::direct},
    {"linear_float", BeliefKind::independent, Rule::linear, true},
    {"direct_float", BeliefKind::independent, Rule::direct, true},
};

class EachKind : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Adversarial, EachKind, testing::ValuesIn(kinds),
                         [](const auto& kind) { return kind.param.name; });

RegressorOptions quick(const Kind& kind) {
  RegressorOptions options = kind.options();
  options.hidden = {6};
  options.epochs = 12;
  options.ensemble = 2;
  return options;
}

// ----------------------------------------------------------------------------------------- tables

struct NamedTable {
  std::string name;
  Table table;
};

Numbers normals(std::size_t rows, std::uint64_t seed) {
  special::Random random(seed);
  Numbers result(rows);
  for (double& value : result) value = random.normal();
  return result;
}

Numbers mapped(Numbers numbers, const std::function<double(double)>& map) {
  for (double& number : numbers) number = map(number);
  return numbers;
}

Table scaled(Table table, const std::vector<double>& factors) {
  for (std::size_t k = 0; k < factors.size(); ++k) {
    for (double& number : table.columns[k].numbers) number *= factors[k];
  }
  return table;
}

Table repeated(const Table& table, std::size_t times) {
  Table result = table;
  for (std::size_t k = 1; k < times; ++k) append_rows(result, table);
  return result;
}

// Many columns, few rows.
Table wide_table(std::size_t rows, std::size_t features) {
  Table table;
  for (std::size_t k = 0; k < features; ++k) {
    table.columns.push_back({.name = "x" + std::to_string(k), .numbers = normals(rows, k + 1)});
  }
  table.columns.push_back({.name = "y", .numbers = normals(rows, 1000)});
  return table;
}

Table with_column(Table table, Column column) {
  table.columns.push_back(std::move(column));
  return table;
}

Table with_target(Table table, Numbers target) {
  table.columns.back().numbers = std::move(target);
  return table;
}

Table collinear_table(std::size_t rows) {
  const Numbers a = normals(rows, 1);
  return {.columns = {{.name = "a", .numbers = a},
                      {.name = "b", .numbers = mapped(a, [](double x) { return 2 * x; })},
                      {.name = "c", .numbers = mapped(a, [](double x) { return 5 - x / 3; })},
                      {.name = "y", .numbers = mapped(a, [](double x) { return 1 + 4 * x; })}}};
}

Table with_outlier(double size) {
  Table table = wave_table(60, 0.2, 3);
  table.columns.back().numbers[17] = size;
  return table;
}

// What a person would call usable.
std::vector<NamedTable> usable_tables() {
  const Table wave = wave_table(40, 0.2, 1);
  const Numbers steps = mapped(normals(40, 5), [](double x) { return x > 0 ? 1.0 : 0.0; });
  Numbers one_hot(40);
  one_hot[7] = 1;
  return {
      {"columns scaled by 1e150", scaled(wave, {1e150, 1e-150, 1})},
      {"everything scaled by 1e150", scaled(wave, {1e150, 1e150, 1e150})},
      {"everything scaled by 1e-150", scaled(wave, {1e-150, 1e-150, 1e-150})},
      {"the target scaled by 1e150", scaled(wave, {1, 1, 1e150})},
      {"the target scaled by 1e-150", scaled(wave, {1, 1, 1e-150})},
      {"near the largest numbers", scaled(wave, {3e299, 3e299, 1e298})},
      {"near the smallest numbers", scaled(wave, {1e-300, 1e-300, 1e-299})},
      {"features that are subnormal", scaled(wave, {1e-318, 1e-320, 1})},
      {"a large offset",
       with_column(wave, {.name = "far",
                          .numbers = mapped(normals(40, 2), [](double x) { return 1e12 + x; })})},
      {"a target with a large offset",
       with_target(wave, mapped(wave.columns[2].numbers, [](double y) { return 1e12 + y; }))},
      {"a constant column", with_column(wave, {.name = "same", .numbers = Numbers(40, 3)})},
      {"every row ten times", repeated(wave, 10)},
      {"every row a hundred times", repeated(wave_table(5, 0.2, 1), 100)},
      {"the same features, other targets",
       {.columns = {{.name = "a", .numbers = {1, 1, 1, 2, 2, 2}},
                    {.name = "y", .numbers = {1, 2, 3, 11, 12, 10}}}}},
      {"collinear columns, no noise", collinear_table(30)},
      {"collinear columns, no noise, more rows", collinear_table(1000)},
      {"an outlier of 1e9", with_outlier(1e9)},
      {"an outlier of -1e9", with_outlier(-1e9)},
      {"an outlier of 1e300", with_outlier(1e300)},
      {"two rows", wide_table(2, 1)},
      {"two rows, five features", wide_table(2, 5)},
      {"three rows, thirty features", wide_table(3, 30)},
      {"ten rows, twenty features", wide_table(10, 20)},
      {"a target of two values", with_target(wave, steps)},
      {"a target that is one once", with_target(wave, one_hot)},
      {"a feature that is one once", with_column(wave, {.name = "rare", .numbers = one_hot})},
      {"a target that differs by one bit",
       with_target(wave, mapped(steps, [](double x) { return x > 0 ? 1 + 0x1p-52 : 1.0; }))},
      {"a feature that is the target",
       with_column(wave, {.name = "leak", .numbers = wave.columns[2].numbers})},
      {"targets that have nothing to do with the features", with_target(wave, normals(40, 77))},
  };
}

// Rows far from all that was learnt.
Table far_rows(const Table& table, double distance) {
  Table far = table;
  for (Column& column : far.columns) {
    for (double& number : column.numbers) number *= distance;
  }
  return far;
}

// How many times its prior's precision a weight's is, where the rows say most.
double most_learnt(const Model& model) {
  double most = 0;
  for (const WeightMoments& weights : weights_of(model)) {
    for (std::size_t k = 0; k < weights.variance.size(); ++k) {
      most = std::max(most, weights.prior_variance[k] / weights.variance[k]);
    }
  }
  return most;
}

// Single precision may have too few digits for rows that are fitted to the last one, and says so. Which these are,
// double precision knows: beside what it learns of a weight, the prior is less than single precision's last digit. A row
// of many copies is learnt as often before its message is told apart from the rest, and every time rounds.
void expect_few_digits(const Table& table, RegressorOptions options, const std::string& refusal) {
  ASSERT_TRUE(options.single_precision) << refusal;
  EXPECT_TRUE(refusal.starts_with("single precision has too few digits")) << refusal;
  options.single_precision = false;
  const auto exact = Regressor::fit(table, options);
  double times = 1;
  for (const double weight : exact.model().row_weights) times = std::max(times, weight);
  EXPECT_GT(times * most_learnt(exact.model()), 1 / std::numeric_limits<float>::epsilon())
      << refusal;
}

template <class Run>
void expect_no_error(const Table& table, const RegressorOptions& options, const Run& run) {
  try {
    run();
  } catch (const NetworkError& error) {
    expect_few_digits(table, options, error.what());
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

void expect_model(const Regressor& model, const Model& fitted, const Table& table) {
  expect_sound(model.model(), fitted);
  expect_finite(model.report());
  expect_finite(model.predict(table));
}

void expect_learnt(const Table& table, const RegressorOptions& options) {
  expect_no_error(table, options, [&] {
    const auto model = Regressor::fit(table, options);
    expect_model(model, model.model(), table);
  });
}

TEST_P(EachKind, LearnsEveryUsableTable) {
  for (const auto& [name, table] : usable_tables()) {
    SCOPED_TRACE(name);
    expect_learnt(table, quick(GetParam()));
  }
}

TEST_P(EachKind, LearnsThemWithTheDefaultsToo) {
  for (const auto& [name, table] : usable_tables()) {
    if (table.rows() > 100) continue;
    SCOPED_TRACE(name);
    RegressorOptions options = GetParam().options();
    if (test::sanitized) {
      options.epochs = 24;
      options.ensemble = 1;
    }
    expect_learnt(table, options);
  }
}

// All rows come a second time, then those of the fit go, then one more.
TEST_P(EachKind, RowsComeAndGo) {
  for (const auto& usable : usable_tables()) {
    const Table& table = usable.table;  // clang 14 cannot capture a structured binding
    SCOPED_TRACE(usable.name);
    expect_no_error(table, quick(GetParam()), [&] {
      auto model = Regressor::fit(table, quick(GetParam()));
      const Model fitted = model.model();
      model.update(table);
      expect_model(model, fitted, table);
      model.forget_rows(table);
      expect_model(model, fitted, table);
      const std::array<std::size_t, 1> one{0};
      model.forget_rows(select_rows(table, one));
      expect_model(model, fitted, table);
    });
  }
}

// Rows far from all that was learnt are predicted up to where they are refused, and learnt, or refused with a hint and
// the model left as it was: beside a row that weighs 1e18 times as much, a joint belief's other rows are rounding.
TEST_P(EachKind, FarRows) {
  const Table table = wave_table(40, 0.2, 1);
  const std::array<std::size_t, 3> some{0, 1, 2};
  auto model = Regressor::fit(table, quick(GetParam()));
  const auto before = model.to_bytes();
  for (const double distance : {10.0, 1e3, 1e6, 1e9, 1e12, 3e14}) {
    SCOPED_TRACE(distance);
    const Table far = far_rows(select_rows(table, some), distance);
    expect_finite(model.predict(far));
    try {
      model.update(far);
      expect_finite(model.predict(table));
      expect_finite(model.predict(far));
    } catch (const NetworkError& error) {
      EXPECT_TRUE(GetParam().belief == BeliefKind::joint && distance > 1e7) << error.what();
      EXPECT_NE(std::string(error.what()).find("a number far from those of the fit"),
                std::string::npos);
      EXPECT_EQ(model.to_bytes(), before);
    }
    model = Regressor::from_bytes(before);
  }
  EXPECT_THROW(model.predict(far_rows(table, 1e17)), DataError);
}

TEST_P(EachKind, RefusesWhatCannotBeLearnt) {
  const auto refusal = [](const Table& table) -> std::string {
    try {
      Regressor::fit(table, quick(GetParam()));
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  };
  const Table wave = wave_table(4, 0.2, 1);
  EXPECT_EQ(refusal(with_target(wave, {3, 3, 3, 3})),
            "the table, column 'y': the target is 3 in every row: there is nothing to learn");
  EXPECT_EQ(refusal(wide_table(1, 2)),
            "the table: 1 of 1 rows have a target; at least two are needed");
  EXPECT_EQ(refusal(with_target(wave, {1, 2, 3, 1.5e300})),
            "the table, line 4, column 'y': '1.5e+300' is larger than 1e300");
  EXPECT_EQ(refusal(with_target(wave, {1e-310, 0, 0, 0}))
                .find("the table, column 'y': the target\'s "
                      "standard deviation is 4.33"),
            0U);
  Table flat = wave;
  flat.columns[0].numbers = flat.columns[1].numbers = {7, 7, 7, 7};
  EXPECT_EQ(refusal(flat), "the table: no feature is left: 'a' (constant: 7), 'b' (constant: 7)");
}

// ---------------------------------------------------------------------------------- random tables

class TableDrawer {
 public:
  explicit TableDrawer(std::uint64_t seed) : random_(seed) {}

  Table draw() {
    const std::size_t rows = 2 + below(12);
    const std::size_t features = 1 + below(6);
    Table table;
    for (std::size_t k = 0; k < features; ++k) {
      table.columns.push_back(feature("x" + std::to_string(k), rows, table));
    }
    table.columns.push_back({.name = "y", .numbers = target(rows, table)});
    return table;
  }

 private:
  std::size_t below(std::size_t end) {
    return static_cast<std::size_t>(random_.uniform() * static_cast<double>(end));
  }

  Numbers normals(std::size_t rows) {
    Numbers result(rows);
    for (double& value : result) value = random_.normal();
    return result;
  }

  double power() { return std::pow(10, random_.uniform(-150, 150)); }

  Column feature(std::string name, std::size_t rows, const Table& before) {
    Column column{.name = std::move(name), .numbers = normals(rows)};
    const auto map = [&](auto change) { column.numbers = mapped(column.numbers, change); };
    const Column* other = before.columns.empty() ? nullptr : &before.columns.back();
    switch (below(10)) {
      case 0:
        map([s = power()](double x) { return s * x; });
        break;
      case 1:
        map([](double) { return 4.0; });
        break;
      case 2:
        map([](double x) { return std::round(x); });
        break;
      case 3:
        map([](double x) { return x > 1 ? 1.0 : 0.0; });
        break;
      case 4:
        map([](double x) { return 1e9 + x; });
        break;
      case 5:
        for (double& x : column.numbers) {
          if (random_.uniform() < 0.3) x = std::numeric_limits<double>::quiet_NaN();
        }
        break;
      case 6:
        if (other != nullptr && !other->is_text) {
          column.numbers = mapped(other->numbers, [](double x) { return 3 - 2 * x; });
        }
        break;
      case 7:
        column.numbers[below(rows)] = 1e9;
        break;
      case 8:
        column.is_text = true;
        column.numbers.clear();
        column.values = {"red", "green", "blue"};
        for (std::size_t n = 0; n < rows; ++n) {
          column.codes.push_back(static_cast<std::uint32_t>(below(3)));
        }
        break;
      default:
        break;
    }
    return column;
  }

  Numbers target(std::size_t rows, const Table& table) {
    Numbers y = normals(rows);
    const Column& first = table.columns.front();
    switch (below(8)) {
      case 0:
        return mapped(y, [s = power()](double x) { return s * x; });
      case 1:
        return mapped(y, [](double x) { return std::round(x); });
      case 2:
        y[below(rows)] = 1e9;
        return y;
      case 3:
        return first.is_text ? y : mapped(first.numbers, [](double x) { return 7 * x + 1; });
      case 4:
        return mapped(y, [](double x) { return x > 0 ? 1.0 : 0.0; });
      case 5:
        return mapped(y, [](double x) { return -1e9 + x; });
      case 6:
        if (random_.uniform() < 0.2) return Numbers(rows, 2);
        return y;
      default:
        return y;
    }
  }

  special::Random random_;
};

std::vector<std::size_t> rows_with_target(const Table& table) {
  std::vector<std::size_t> rows;
  for (std::size_t n = 0; n < table.rows(); ++n) {
    if (!std::isnan(table.columns.back().numbers[n])) rows.push_back(n);
  }
  return rows;
}

template <class Value>
bool vary(const std::vector<Value>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end();
}

// Empty cells differ from others, but are nothing where there is no other.
bool is_feature(const Column& column) {
  if (column.is_text) return vary(column.codes);
  const auto is_empty = [](double number) { return std::isnan(number); };
  return vary(column.numbers) &&
         !std::all_of(column.numbers.begin(), column.numbers.end(), is_empty);
}

// Why there is nothing to learn; empty if there is something.
std::string known_reason(const Table& table) {
  const Table known = select_rows(table, rows_with_target(table));
  if (known.rows() < 2) return "rows have a target; at least two are needed";
  if (!vary(known.columns.back().numbers)) return "in every row: there is nothing to learn";
  if (std::none_of(known.columns.begin(), known.columns.end() - 1, is_feature)) {
    return "no feature is left";
  }
  return "";
}

void expect_learnt_or_refused(const Table& table, const RegressorOptions& options) {
  const std::string reason = known_reason(table);
  try {
    const auto model = Regressor::fit(table, options);
    EXPECT_EQ(reason, "");
    expect_model(model, model.model(), table);
    expect_finite(model.predict(far_rows(table, -3)));
  } catch (const DataError& error) {
    EXPECT_NE(reason, "") << error.what();
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

TEST(Adversarial, AThousandRandomTables) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Table table = TableDrawer(seed).draw();
    const Kind& kind = kinds[seed % kinds.size()];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + kind.name);
    RegressorOptions options = quick(kind);
    options.hidden = {4};
    options.seed = seed;
    expect_no_error(table, options, [&] { expect_learnt_or_refused(table, options); });
  }
}

}  // namespace
}  // namespace dma
