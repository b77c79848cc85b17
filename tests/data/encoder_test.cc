// The encoder: kinds, what is dropped, scales, hashes, errors that name the cell.
#include <dma/data/encoder.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dma/special/random.h>

namespace dma {
namespace {

constexpr double empty = std::numeric_limits<double>::quiet_NaN();
using Strings = std::vector<std::string>;
using Numbers = std::vector<double>;

Column numbers(std::string name, Numbers values) {
  return {.name = std::move(name), .numbers = std::move(values)};
}

// "" is an empty cell.
Column text(std::string name, const Strings& cells) {
  Column column{.name = std::move(name), .is_text = true};
  for (const std::string& cell : cells) {
    if (cell.empty()) {
      column.codes.push_back(Column::empty_cell);
      continue;
    }
    const auto known = std::find(column.values.begin(), column.values.end(), cell);
    column.codes.push_back(static_cast<std::uint32_t>(known - column.values.begin()));
    if (known == column.values.end()) column.values.push_back(cell);
  }
  return column;
}

// A feature with a target beside it.
Table with_target(Column column) {
  Numbers target;
  for (std::size_t row = 0; row < column.rows(); ++row) target.push_back(double(row));
  return {.source = "file.csv", .columns = {std::move(column), numbers("y", target)}};
}

Encoder fit(const Column& column, EncoderOptions options = {}) {
  options.targets = {"y"};
  return Encoder::fit(with_target(column), options);
}

FeatureColumn fit_one(const Column& column, EncoderOptions options = {}) {
  return fit(column, std::move(options)).features.at(0);
}

// Why the column is dropped; "" if it is not.
std::string dropped(const Column& column, EncoderOptions options = {}) {
  Table table = with_target(column);
  Numbers other(table.rows());
  for (std::size_t row = 0; row < other.size(); ++row) other[row] = double(row % 7);
  table.columns.push_back(numbers("other", other));
  options.targets = {"y"};
  const Encoder encoder = Encoder::fit(table, options);
  return encoder.dropped.empty() ? "" : encoder.dropped[0].reason;
}

// The inputs of one row of a table that has this column only.
Numbers encode_row(const Encoder& encoder, const Column& column, std::size_t row = 0) {
  const Table table{.source = "new.csv", .columns = {column}};
  const auto encoded = encoder.encode_inputs(table);
  const auto begin = encoded.inputs.begin() + std::ptrdiff_t(row * encoder.width());
  return {begin, begin + std::ptrdiff_t(encoder.width())};
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

// ------------------------------------------------------------------------------------------- kinds

TEST(Kinds, AreFound) {
  EXPECT_EQ(fit_one(numbers("x", {1, 2, 3})).kind, ColumnKind::numeric);
  EXPECT_EQ(fit_one(text("x", {"a", "b", "a"})).kind, ColumnKind::categorical);
  for (const Strings& cells : {Strings{"true", "FALSE", "True"},
                               {"yes", "no", "no"},
                               {"t", "f", "T"},
                               {"Y", "n", ""},
                               {"on", "off", "ON"}}) {
    EXPECT_EQ(fit_one(text("x", cells)).kind, ColumnKind::boolean) << cells[0];
  }
  for (const Strings& cells :
       {Strings{"yes", "no", "maybe"}, {"yes", "true", "yes"}, {"yes", "no", "false"}}) {
    EXPECT_EQ(fit_one(text("x", cells)).kind, ColumnKind::categorical) << cells[2];
  }
  EXPECT_EQ(fit_one(text("x", {"2024-01-01", "02.01.2024", "2024-01-03 10:00"})).kind,
            ColumnKind::datetime);
  EXPECT_EQ(fit_one(text("x", {"2024-01-01", "2023-02-30", "2024-01-03"})).kind,
            ColumnKind::categorical);
  EXPECT_EQ(name_of(ColumnKind::datetime), "datetime");
  EXPECT_EQ(name_of(SlashDates::day_first), "day_first");
  const FeatureColumn yes_or_no = fit_one(text("x", {"Yes", "no", "YES", ""}));
  EXPECT_EQ(yes_or_no.categories, (std::vector<std::string>{"no", "yes"})) << "to show";
  EXPECT_EQ(yes_or_no.width(), 2U);
}

TEST(Kinds, SlashDatesNeedAPartAboveTwelve) {
  const auto us = fit_one(text("d", {"1/2/2024", "1/13/2024", "2/2/2024"}));
  EXPECT_EQ(us.dates, SlashDates::month_first);
  EXPECT_NEAR(us.mean, 19724 + (0 + 11 + 31) / 3.0, 1e-9);  // 2024-01-02 is day 19724
  const auto rest = fit_one(text("d", {"1/2/2024", "13/1/2024", "2/2/2024"}));
  EXPECT_EQ(rest.dates, SlashDates::day_first);
  EXPECT_NEAR(rest.mean, 19735 + (19 + 0 + 20) / 3.0, 1e-9);  // 2024-01-13
  EXPECT_EQ(fit_one(text("d", {"13/1/2024", "1/13/2024", "13/1/2024"})).kind,
            ColumnKind::categorical);
  const Column unclear = text("d", {"2024-01-01", "1/2/2024", "3/4/2024"});
  const auto message = message_of([&] { fit(unclear); });
  EXPECT_EQ(
      message,
      "file.csv, line 2, column 'd': '1/2/2024' may be day/month or month/day, and no date in "
      "the column shows which; write dates as YYYY-MM-DD, drop the column, or declare it "
      "categorical");
  EXPECT_EQ(fit_one(unclear, {.categorical = {"d"}}).kind, ColumnKind::categorical);
}

TEST(Kinds, OrderOfDatesIsThatOfTraining) {
  const Column day_first = text("d", {"1/2/2024", "13/1/2024"});
  const Encoder encoder = fit(day_first);
  EXPECT_EQ(encode_row(encoder, text("d", {"3/2/2024"})),
            encode_row(encoder, text("d", {"2024-02-03"})));
  EXPECT_NE(message_of([&] { encode_row(encoder, text("d", {"1/13/2024"})); }), "no error");
  // None in training: an order would be a guess.
  const Encoder iso = fit(text("d", {"2024-01-01", "2024-01-02"}));
  EXPECT_NE(message_of([&] { encode_row(iso, text("d", {"13/1/2024"})); }), "no error");
}

// --------------------------------------------------------------------------------- what is dropped

TEST(Dropped, ConstantAndEmptyColumns) {
  EXPECT_EQ(dropped(numbers("x", {3, 3, 3})), "constant: 3");
  EXPECT_EQ(dropped(text("x", {"a", "a", "a"})), "constant: a");
  EXPECT_EQ(dropped(text("x", {"Yes", "yes", "YES"})), "constant: Yes");
  EXPECT_EQ(dropped(text("x", {"2024-01-01", "2024/01/01", "1.1.2024"})), "constant: 2024-01-01");
  EXPECT_EQ(dropped(numbers("x", {empty, empty, empty})), "empty");
  EXPECT_EQ(dropped(text("x", {"", "", ""})), "empty");
  EXPECT_EQ(dropped(numbers("x", {3, 3, 4})), "");
  EXPECT_EQ(dropped(numbers("x", {3, 3, empty})), "");
  EXPECT_EQ(dropped(numbers("x", {3, 3, 3}), {.categorical = {"x"}}), "constant: 3");
  EXPECT_EQ(dropped(numbers("x", {3, 3, 3}), {.features = {"x", "other"}}),
            "named, but constant: 3");
  EXPECT_EQ(dropped(numbers("x", {3, 3, 3}), {.drop = {"x"}}), "");  // as asked: nothing to tell
}

TEST(Dropped, TextThatIsAName) {
  Strings names;
  Strings twice;
  for (int k = 0; k < 60; ++k) {
    names.push_back("person " + std::to_string(k));
    twice.push_back("person " + std::to_string(k % 30));
  }
  EXPECT_EQ(
      dropped(text("x", names)),
      "text that differs in almost every row, like a name or an id; declare it categorical to "
      "keep it");
  EXPECT_EQ(dropped(text("x", twice)), "");
  EXPECT_EQ(dropped(text("x", twice), {.most_categories = 29}), "");  // just half are different
  names.resize(10);
  EXPECT_NE(dropped(text("x", names)), "");  // in a small table too
  names.resize(9);
  EXPECT_EQ(dropped(text("x", names)), "");
  for (int k = 9; k < 60; ++k) names.push_back("person " + std::to_string(k));
  const auto kept = fit_one(text("x", names), {.categorical = {"x"}});
  ASSERT_EQ(kept.categories.size(), 50U);
  EXPECT_EQ(kept.categories[0], "person 0");
}

// ---------------------------------------------------------------------------------------------- ids

// What a column called so is left out for, beside a column of numbers.
std::string dropped_as(const std::string& name, const Numbers& values,
                       EncoderOptions options = {}) {
  Numbers others;
  for (std::size_t row = 0; row < values.size(); ++row) others.push_back(row % 5 == 0 ? 1 : -2.5);
  Table table = with_target(numbers(name, values));
  table.columns.push_back(numbers("height", others));
  options.targets = {"y"};
  const Encoder encoder = Encoder::fit(table, options);
  return encoder.dropped.empty() ? "" : encoder.dropped.front().reason;
}

Numbers counted(std::size_t rows, double first, double step = 1) {
  Numbers values;
  for (std::size_t row = 0; row < rows; ++row)
    values.push_back(first + step * static_cast<double>(row));
  return values;
}

TEST(Ids, NumbersThatCountTheRows) {
  constexpr const char* reason =
      "an id: another whole number in every row; the option keep-ids keeps such columns";
  EXPECT_EQ(dropped_as("c1", counted(20, 0)), reason);
  EXPECT_EQ(dropped_as("record", counted(20, 1)), reason);
  Numbers gaps = counted(20, 1);
  gaps.back() = 35;
  EXPECT_EQ(dropped_as("record", gaps), reason);
  gaps.back() = 45;  // fewer than half of the numbers are there
  EXPECT_EQ(dropped_as("record", gaps), "");
  Numbers shuffled = counted(20, 1);
  std::swap(shuffled[3], shuffled[4]);
  EXPECT_EQ(dropped_as("record", shuffled), "");
  EXPECT_EQ(dropped_as("record", counted(20, 1950)), "");
  EXPECT_EQ(dropped_as("record", counted(20, 0, 0.5)), "");
  EXPECT_EQ(dropped_as("record", counted(9, 1)), "");
  for (const char* name : {"x", "t", "x12", "day", "Months since start", "time_step"}) {
    EXPECT_EQ(dropped_as(name, counted(20, 1)), "") << name;
  }
}

TEST(Ids, NamedSoAndAllDifferent) {
  const Numbers different{77, 12, 35, 90, 41};
  for (const char* name : {"id", "PID", "PassengerId", "customer_id", "Customer ID", "userid",
                           "invoice no", "Unnamed: 0", "id_of_house"}) {
    EXPECT_NE(dropped_as(name, different), "") << name;
  }
  for (const char* name : {"acid", "humid", "paid", "idle", "note", "rooms", "grid"}) {
    EXPECT_EQ(dropped_as(name, different), "") << name;
  }
  EXPECT_EQ(dropped_as("id", {77, 12, 35, 77, 41}), "");
  EXPECT_EQ(dropped_as("id", {77, 12, 35.5, 90, 41}), "");
}

TEST(Ids, AreKeptOnRequest) {
  EXPECT_EQ(dropped_as("id", counted(20, 1), {.keep_ids = true}), "");
  EXPECT_EQ(dropped_as("id", counted(20, 1), {.features = {"id", "height"}, .keep_ids = true}), "");
  EXPECT_EQ(dropped_as("id", counted(20, 1), {.categorical = {"id"}}), "");
  EXPECT_EQ(fit(numbers("id", counted(20, 1))).features.size(), 1U);  // there is no other feature
}

TEST(Dropped, OneValueAndEmptyCellsKeepTheMark) {
  for (const Column& column : {numbers("x", {3, empty, 3}), text("x", {"yes", "", "Yes"}),
                               text("x", {"2024-01-01", "", "1.1.2024"})}) {
    const Encoder encoder = fit(column);
    EXPECT_EQ(encoder.width(), 1U);
    EXPECT_EQ(encoder.features[0].deviation, 0);
    EXPECT_EQ(encoder.input_names(), Strings{"x is empty"});
    EXPECT_EQ(encoder.encode_inputs(with_target(column)).inputs, (Numbers{0, 1, 0}));
  }
  EXPECT_EQ(fit(text("x", {"a", "", "a"})).input_names(),
            (Strings{"x = a", "x = (empty)", "x = (other)"}));
}

// ------------------------------------------------------------------------------------------ values

TEST(Encode, Numbers) {
  const Column column = numbers("x", {1, 3, empty});
  const Encoder encoder = fit(column);
  EXPECT_EQ(encoder.features[0].mean, 2);
  EXPECT_EQ(encoder.features[0].deviation, 1);
  EXPECT_EQ(encoder.input_names(), (Strings{"x", "x is empty"}));
  EXPECT_EQ(encoder.encode_inputs(with_target(column)).inputs, (Numbers{-1, 0, 1, 0, 0, 1}));
}

TEST(Encode, EmptyCellsThatTrainingDidNotHave) {
  EXPECT_EQ(encode_row(fit(numbers("x", {1, 3, 5})), numbers("x", {empty})), Numbers{0});
  EXPECT_EQ(encode_row(fit(text("x", {"no", "no", "yes", "no"})), text("x", {""})), Numbers{0.25});
  EXPECT_EQ(encode_row(fit(text("x", {"a", "b"})), text("x", {""})), (Numbers{0, 0, 1}));
  // A column without any value arrives as numbers.
  EXPECT_EQ(encode_row(fit(text("x", {"a", "b"})), numbers("x", {empty})), (Numbers{0, 0, 1}));
  EXPECT_EQ(encode_row(fit(text("x", {"2024-01-01", "2024-01-02"})), numbers("x", {empty})),
            Numbers(8, 0.0));
}

TEST(Encode, PartsOfDates) {
  const auto names = [](const Strings& dates) { return fit(text("x", dates)).input_names(); };
  // All in one month: the weekday differs. One day per month: the month does, and the weekday is an accident.
  const Strings in_a_month = names({"2024-01-01", "2024-01-02", "2024-01-09"});
  ASSERT_EQ(in_a_month.size(), 8U);
  EXPECT_EQ(in_a_month[1], "x: Monday");
  const Strings monthly = names({"2024-01-01", "2024-02-01", "2024-03-01"});
  ASSERT_EQ(monthly.size(), 15U);
  EXPECT_EQ(monthly[1], "x: year, sine");
  EXPECT_EQ(monthly[14], "x: December");
  EXPECT_EQ(names({"2024-01-01 08:00", "2024-01-01 20:00"}).size(), 5U);
  EXPECT_EQ(names({"2020-03-01", "2021-03-01"}), Strings{"x"});  // once a year

  const Encoder encoder = fit(text("x", {"2024-01-01", "", "2024-04-30 06:00", "2023-07-02"}));
  EXPECT_EQ(encoder.width(), 2U + 2 + 12 + 7 + 4);
  EXPECT_EQ(encoder.input_names().size(), encoder.width());
  const Numbers row = encode_row(encoder, text("x", {"2026-07-02 12:00"}));
  const auto near = [](double a, double b) { return std::abs(a - b) < 1e-9; };
  EXPECT_TRUE(near(row[2], 0) && near(row[3], -std::sqrt(2))) << row[2] << ' ' << row[3];
  for (std::size_t month = 0; month < 12; ++month) EXPECT_EQ(row[4 + month], month == 6 ? 1 : 0);
  for (std::size_t day = 0; day < 7; ++day) EXPECT_EQ(row[16 + day], day == 3 ? 1 : 0);
  EXPECT_TRUE(near(row[23], 0) && near(row[24], -std::sqrt(2)));
  EXPECT_TRUE(near(row[25], 0) && near(row[26], std::sqrt(2)));
  Numbers alone(encoder.width());
  encoder.features[0].encode(20636.5, alone.data());
  EXPECT_EQ(alone, row);
  Numbers nothing_known(encoder.width());
  nothing_known[1] = 1;
  EXPECT_EQ(encode_row(encoder, text("x", {""})), nothing_known);
  // Before 1970, and the last day of a leap year.
  const Numbers old = encode_row(encoder, text("x", {"1968-12-31 18:00"}));
  EXPECT_EQ(old[4 + 11], 1);
  EXPECT_EQ(old[16 + 1], 1);
  EXPECT_TRUE(near(old[23], -std::sqrt(2)));
}

// Row and place of the unseen cells, empty ones with a minus sign.
std::vector<int> unseen_in(const EncodedRows& rows) {
  std::vector<int> places;
  for (const UnseenCell& cell : rows.unseen) {
    const auto place = static_cast<int>(10 * (cell.row + 1) + cell.feature);
    places.push_back(cell.empty ? -place : place);
  }
  return places;
}

TEST(Encode, CellsUnlikeTrainingAreListedAndCounted) {
  const Encoder encoder =
      Encoder::fit({.columns = {text("c", {"East", "west", "West", "north"}),
                                text("f", {"yes", "no", "no", "no"}), numbers("n", {1, 2, 3, 4}),
                                numbers("y", {1, 2, 3, 4})}},
                   {.targets = {"y"}});
  ASSERT_EQ(encoder.features[0].name, "c");
  Table later{.source = "new.csv",
              .columns = {text("c", {" EAST", "south", "WEST", "west", "", "North "}),
                          text("f", {"Y", "maybe", "no", "?!", "", "no"}),
                          numbers("n", {1, 2, empty, 9, empty, 1})},
              .first_line = 2};
  const EncodedRows rows = encoder.encode_inputs(later);
  EXPECT_EQ(unseen_in(rows), (std::vector<int>{20, 21, 30, -32, 41, -50, -51, -52}));
  std::vector<std::string> said;
  for (const UnseenCells& one : rows.unlike) {
    said.push_back(one.column + " " + std::string(name_of(one.what)) + " " +
                   std::to_string(one.cells) + " '" + one.example + "' '" + one.known + "' " +
                   one.place);
  }
  // WEST may be either of two.
  EXPECT_EQ(said, (Strings{"c value 2 'south' '' line 3", "c empty 1 '' '' line 6",
                           "c spelling 2 ' EAST' 'East' line 2", "f value 2 'maybe' '' line 3",
                           "f empty 1 '' '' line 6", "n empty 2 '' '' line 4"}));
  const std::size_t width = encoder.width();
  EXPECT_EQ(
      rows.inputs[0],
      encoder
          .encode_inputs({.columns = {text("c", {"East"}), text("f", {"no"}), numbers("n", {1})}})
          .inputs[0]);
  EXPECT_EQ(rows.inputs.size(), 6 * width);
}

// Then nobody knows which values are new.
TEST(Encode, WhereRareValuesShareAColumnNoneIsUnseen) {
  EncoderOptions options{.targets = {"y"}, .most_categories = 2};
  const Table table{
      .columns = {text("c", {"a", "a", "a", "b", "b", "c"}), numbers("y", {1, 2, 3, 4, 5, 6})}};
  const Encoder encoder = Encoder::fit(table, options);
  EXPECT_TRUE(encoder.features[0].others);
  EXPECT_TRUE(encoder.encode_inputs({.columns = {text("c", {"d"})}}).unseen.empty());
  EXPECT_EQ(unseen_in(encoder.encode_inputs({.columns = {text("c", {""})}})),
            std::vector<int>{-10});
}

TEST(Encode, PiecesAreCountedTogether) {
  std::vector<UnseenCells> all;
  const auto value = UnseenCells::What::value;
  add({{"c", value, 2, "x", "", "line 2"}}, all);
  add({{"d", value, 1, "z", "", "line 9"}, {"c", value, 3, "w", "", "line 8"}}, all);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].cells, 5U);
  EXPECT_EQ(all[0].example, "x");
}

TEST(Bounds, AreAssumedWhereNumbersComeNearToThem) {
  const auto ends = [](const Bounds& bounds) { return std::pair(bounds.low, bounds.high); };
  EXPECT_FALSE(natural_bounds(-0.1, 5, 1).any());
  EXPECT_FALSE(natural_bounds(1990, 2020, 9).any());
  EXPECT_EQ(ends(natural_bounds(0.4, 30, 5)), std::pair(0.0, HUGE_VAL));
  EXPECT_EQ(natural_bounds(0.4, 30, 5).assumed, true);
  EXPECT_EQ(ends(natural_bounds(3, 99, 20)), std::pair(0.0, 100.0));
  EXPECT_EQ(ends(natural_bounds(0.3, 0.99, 0.2)), std::pair(0.0, 1.0));
  EXPECT_EQ(ends(natural_bounds(18, 64, 14)), std::pair(-HUGE_VAL, HUGE_VAL));
}

TEST(Encode, Booleans) {
  const Encoder encoder = fit(text("x", {"no", "YES", "yes", ""}));
  EXPECT_EQ(encode_row(encoder, text("x", {"Yes"})), (Numbers{1, 0}));
  EXPECT_EQ(encode_row(encoder, text("x", {"off"})), (Numbers{0, 0}));
  EXPECT_EQ(encode_row(encoder, text("x", {""})), (Numbers{2.0 / 3, 1}));
}

TEST(Encode, Categories) {
  const Encoder encoder = fit(text("x", {"a", "b", "", "b", "c"}));
  EXPECT_EQ(encoder.features[0].categories, (Strings{"b", "a", "c", ""}));
  EXPECT_EQ(encoder.input_names(),
            (Strings{"x = b", "x = a", "x = c", "x = (empty)", "x = (other)"}));
  EXPECT_EQ(encode_row(encoder, text("x", {"a"})), (Numbers{0, 1, 0, 0, 0}));
  EXPECT_EQ(encode_row(encoder, text("x", {""})), (Numbers{0, 0, 0, 1, 0}));
  EXPECT_EQ(encode_row(encoder, text("x", {"d"})), (Numbers{0, 0, 0, 0, 1}));
  EXPECT_EQ(encode_row(encoder, numbers("x", {7})), (Numbers{0, 0, 0, 0, 1}));
}

TEST(Encode, RareCategoriesShareOther) {
  const Column column = text("x", {"c", "a", "b", "b", "a", "d", "d", "d"});
  const Encoder encoder = fit(column, {.most_categories = 2});
  EXPECT_EQ(encoder.features[0].categories, (Strings{"d", "a"}));  // a before b, both twice
  EXPECT_EQ(encode_row(encoder, column, 2), (Numbers{0, 0, 1}));
}

TEST(Encode, CategoriesThatAreNumbers) {
  const Column column = numbers("x", {3, 0.1, 3, -0.0, 0});
  const Encoder encoder = fit(column, {.categorical = {"x"}});
  EXPECT_EQ(encoder.features[0].categories, (Strings{"3", "0", "0.1"}));
  EXPECT_EQ(encode_row(encoder, column), (Numbers{1, 0, 0, 0}));
  EXPECT_EQ(encode_row(encoder, text("x", {"3.0"})), (Numbers{1, 0, 0, 0}));
  EXPECT_EQ(encode_row(encoder, text("x", {"three"})), (Numbers{0, 0, 0, 1}));
  // Codes with leading zeros are not numbers once they are read as text.
  const Encoder codes = fit(text("x", {"3", "03", "3"}), {.categorical = {"x"}});
  EXPECT_EQ(encode_row(codes, text("x", {"03"})), (Numbers{0, 1, 0}));
  EXPECT_EQ(encode_row(codes, numbers("x", {3.0})), (Numbers{1, 0, 0}));
}

TEST(Encode, QuotedNothingIsAnEmptyCell) {
  Column column = text("x", {"a", "b", "a"});
  column.values[1] = "";
  EXPECT_EQ(fit(column).features[0].categories, (Strings{"a", ""}));
  EXPECT_EQ(encode_row(fit(column), column, 1), (Numbers{0, 1, 0}));
  Column flag = text("x", {"yes", "nothing", "no"});
  flag.values[1] = "";
  EXPECT_EQ(fit_one(flag).kind, ColumnKind::boolean);
  EXPECT_EQ(encode_row(fit(flag), flag, 1), (Numbers{0.5, 1}));
}

// As they are up to twice as far out as training reaches, with the same slope there, and never four times as far.
TEST(Encode, FarNumbersCountLess) {
  const Encoder encoder = fit(numbers("x", {1, 2, 3, 6}));  // mean 3, reach 3
  const double unit = encoder.features[0].deviation;
  EXPECT_DOUBLE_EQ(encoder.features[0].reach, 3 / unit);
  const auto encoded = [&](double x) { return encode_row(encoder, numbers("x", {x}))[0] * unit; };
  EXPECT_DOUBLE_EQ(encoded(9), 6);
  EXPECT_DOUBLE_EQ(encoded(-3), -6);
  EXPECT_NEAR(encoded(9.001), 6.001, 1e-6);
  EXPECT_DOUBLE_EQ(encoded(3 + 12), 6 * (2 - 0.5));
  EXPECT_DOUBLE_EQ(encoded(3 - 12), -6 * (2 - 0.5));
  EXPECT_NEAR(encoded(1e12), 12, 1e-9);
  const Table table = with_target(numbers("x", {1, 10, empty, -100}));
  EXPECT_EQ(encoder.encode_inputs(table).pulled_in, 2U);
  Encoder old = encoder;  // of a model of format 11
  old.features[0].reach = 0;
  EXPECT_DOUBLE_EQ(encode_row(old, numbers("x", {1e12}))[0] * unit, 1e12 - 3);
  EXPECT_EQ(old.encode_inputs(table).pulled_in, 0U);
}

TEST(Encode, FarNumbersStayFinite) {
  Encoder encoder = fit(numbers("x", {1, 2, 3}));
  EXPECT_LT(encode_row(encoder, numbers("x", {8e14}))[0], 4 * encoder.features[0].reach);
  encoder.features[0].reach = 0;
  EXPECT_NEAR(encode_row(encoder, numbers("x", {8e14}))[0], 8e14 / std::sqrt(2.0 / 3), 10);
  EXPECT_EQ(message_of([&] { encode_row(encoder, numbers("x", {-1e15})); }),
            "new.csv, line 1, column 'x': '-1e+15' is more than 1e15 standard deviations away from "
            "the training rows");
  const Encoder tiny = fit(numbers("x", {1e-300, 2e-300}));
  EXPECT_EQ(message_of([&] {
              encode_row(tiny, numbers("x", {1e-300, 1e300}), 1);
            }),
            "new.csv, line 2, column 'x': '1e+300' is more than 1e15 standard deviations away from "
            "the training rows");
  EXPECT_EQ(message_of([&] { encode_row(encoder, numbers("x", {-HUGE_VAL})); }),
            "new.csv, line 1, column 'x': '-inf' is not finite");
}

TEST(Encode, CellsThatCannotBe) {
  const auto message = [](const Column& trained, const Column& given) {
    const Encoder encoder = fit(trained);
    return message_of([&] { encode_row(encoder, given); });
  };
  EXPECT_EQ(
      message(numbers("x", {1, 2}), text("x", {"4", "five"})),
      "new.csv, line 2, column 'x': 'five' is text, but in training this column held numbers");
  EXPECT_EQ(
      message(numbers("x", {1, 1, empty}), text("x", {"", "five"})),
      "new.csv, line 2, column 'x': 'five' is text, but in training this column held numbers");
  EXPECT_EQ(message(text("x", {"2024-01-01", "2024-01-02"}), text("x", {"2024-01-01", "soon"})),
            "new.csv, line 2, column 'x': 'soon' is not a date in a format used in training; write "
            "it as YYYY-MM-DD");
  EXPECT_EQ(message(numbers("x", {1, 2}), numbers("X", {1})),
            "new.csv: no column 'x'; did you mean 'X'?");
  EXPECT_EQ(message(numbers("x", {1, 2}), numbers("z", {1})),
            "new.csv: no column 'x'; the columns are 'z'");
  // Text that is numbers throughout is as good as numbers.
  EXPECT_EQ(encode_row(fit(numbers("x", {1, 3})), text("x", {"+3.0"})), Numbers{1});
}

TEST(Encode, BeyondOneBlock) {
  // The first bad cell is named wherever it stands.
  Table table = with_target(numbers("x", Numbers(5000, 1.0)));
  for (std::size_t row = 0; row < 5000; ++row) table.columns[0].numbers[row] = double(row % 10);
  const Encoder encoder = Encoder::fit(table, {.targets = {"y"}});
  const auto encoded = encoder.encode(table);
  for (std::size_t row = 0; row < 5000; ++row) {
    ASSERT_EQ(encoded.inputs[row], (double(row % 10) - 4.5) / encoder.features[0].deviation);
  }
  table.columns[0].numbers[4321] = table.columns[0].numbers[4800] = HUGE_VAL;
  EXPECT_EQ(message_of([&] { encoder.encode(table); }),
            "file.csv, line 4322, column 'x': 'inf' is not finite");
}

// ----------------------------------------------------------------------------------------- targets

Table two_targets() {
  return {.source = "file.csv",
          .columns = {numbers("x", {1, 100, 3, 500}), numbers("y", {1, empty, 3, 9}),
                      numbers("z", {10, 20, 30, empty}), text("t", {"a", "rare", "b", "c"})}};
}

TEST(Targets, RowsWithoutAreLeftOutOfEverything) {
  const Table table = two_targets();
  const Encoder encoder = Encoder::fit(table, {.targets = {"y", "z"}});
  EXPECT_EQ(encoder.features[0].categories, (Strings{"a", "b"}));
  EXPECT_EQ(encoder.features[1].mean, 2);  // of 1 and 3
  EXPECT_EQ(encoder.targets[0].mean, 2);
  EXPECT_EQ(encoder.targets[1].deviation, 10);
  const auto encoded = encoder.encode(table);
  EXPECT_EQ(encoded.rows, 2U);
  EXPECT_EQ(encoded.without_target, 2U);
  EXPECT_EQ(encoded.table_rows, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(encoded.inputs, (Numbers{1, 0, 0, -1, 0, 1, 0, 1}));
  EXPECT_EQ(encoded.targets, (Numbers{-1, -1, 1, 1}));
  EXPECT_EQ(encoded.hashes.size(), 2U);
  const auto inputs = encoder.encode_inputs(table);
  EXPECT_EQ(inputs.rows, 4U);
  EXPECT_EQ(inputs.inputs.size(), 16U);
  EXPECT_TRUE(inputs.targets.empty());
  EXPECT_TRUE(inputs.hashes.empty());
  EXPECT_EQ(inputs.inputs[7], 2 * (2 - 2 / 98.0));  // 98, which is far out
}

TEST(Targets, AnOddCellInALeftOutRowDoesNoHarm) {
  const Table table{.columns = {text("x", {"yes", "no", "maybe"}), numbers("y", {1, 2, empty})}};
  const Encoder encoder = Encoder::fit(table, {.targets = {"y"}});
  EXPECT_EQ(encoder.features[0].kind, ColumnKind::boolean);
  EXPECT_EQ(encoder.encode(table).inputs, (Numbers{1, 0}));
  EXPECT_EQ(encoder.encode_inputs(table).unlike.size(), 1U);
}

TEST(Targets, MustBeNumbersThatVary) {
  const auto message = [](const Column& target) {
    const Table table{
        .source = "file.csv", .columns = {numbers("x", {1, 2, 3}), target}, .lines = {2, 5, 9}};
    return message_of([&] { Encoder::fit(table, {.targets = {"y"}}); });
  };
  EXPECT_EQ(message(text("y", {"1", "high", "low"})),
            "file.csv, line 5, column 'y': 'high' is text: the target must be a number");
  EXPECT_EQ(message(text("y", {"yes", "no", "yes"})),
            "file.csv, line 2, column 'y': 'yes' is text: the target must be a number");
  EXPECT_EQ(message(numbers("y", {3, 3, 3})),
            "file.csv, column 'y': the target is 3 in every row: there is nothing to learn");
  EXPECT_EQ(message(numbers("y", {3, empty, empty})),
            "file.csv: 1 of 3 rows have a target; at least two are needed");
  EXPECT_EQ(message(numbers("y", {3, HUGE_VAL, 2})),
            "file.csv, line 5, column 'y': 'inf' is larger than 1e300");
  const Encoder encoder = fit(numbers("x", {1, 2}));
  const Table later{.source = "new.csv", .columns = {numbers("x", {1}), text("y", {"high"})}};
  EXPECT_EQ(message_of([&] { encoder.encode(later); }),
            "new.csv, line 1, column 'y': 'high' is text: the target must be a number");
  EXPECT_EQ(encoder.encode_inputs(later).rows, 1U);
}

// ----------------------------------------------------------------------------------------- classes

Encoder fit_target(const Column& target, TargetKind kind = TargetKind::automatic) {
  Numbers x;
  for (std::size_t row = 0; row < target.rows(); ++row) x.push_back(double(row));
  return Encoder::fit({.source = "file.csv", .columns = {numbers("x", x), target}},
                      {.targets = {"y"}, .kind = kind});
}

TEST(Classes, AreTextOrTwoNumbers) {
  EXPECT_EQ(fit_target(text("y", {"b", "a", "b"})).targets[0].kind, TargetKind::classes);
  EXPECT_EQ(fit_target(numbers("y", {0, 1, 1, 0})).targets[0].kind, TargetKind::classes);
  EXPECT_EQ(fit_target(numbers("y", {3, 1, 2, 3})).targets[0].kind, TargetKind::number);
  EXPECT_EQ(fit_target(numbers("y", {0, 0, 1})).targets[0].kind, TargetKind::number);
  EXPECT_EQ(fit_target(numbers("y", {0.5, 1, 1, 0.5})).targets[0].kind, TargetKind::number);
  EXPECT_EQ(fit_target(numbers("y", {0, 1, 1, 0}), TargetKind::number).targets[0].kind,
            TargetKind::number);
  EXPECT_EQ(fit_target(numbers("y", {0, 1, 2, 0}), TargetKind::classes).targets[0].classes,
            (Strings{"0", "1", "2"}));
  // A column of numbers with a mistake is not one of classes.
  EXPECT_EQ(message_of([] {
              fit_target(text("y", {"1", "2.5", "3", "4", "?"}));
            }),
            "file.csv, line 5, column 'y': '?' is text: the target must be a number");
}

TEST(Classes, HaveAnOrderAndCounts) {
  const TargetColumn words = fit_target(text("y", {"c10", "c2", "", "c2", "c10", "c2"})).targets[0];
  EXPECT_EQ(words.classes, (Strings{"c2", "c10"}));
  EXPECT_EQ(words.class_rows, (std::vector<std::size_t>{3, 2}));
  EXPECT_TRUE(words.text);
  EXPECT_EQ(fit_target(text("y", {"yes", "no", "yes"})).targets[0].classes, (Strings{"no", "yes"}));
  EXPECT_EQ(fit_target(text("y", {"true", "false"})).targets[0].classes,
            (Strings{"false", "true"}));
  const TargetColumn scores =
      fit_target(numbers("y", {3, -1, 3, -0.0, 0}), TargetKind::classes).targets[0];
  EXPECT_EQ(scores.classes, (Strings{"-1", "0", "3"}));
  EXPECT_EQ(scores.class_rows, (std::vector<std::size_t>{1, 2, 2}));
}

TEST(Classes, AreEncodedAsTheirPlace) {
  const Encoder encoder = fit_target(text("y", {"b", "a", "c", ""}));
  const Table later{.source = "new.csv",
                    .columns = {numbers("x", {1, 2, 3}), text("y", {"c", "", "a"})}};
  const EncodedRows rows = encoder.encode(later);
  EXPECT_EQ(rows.targets, (Numbers{2, 0}));
  EXPECT_EQ(rows.without_target, 1U);
  const Table strange{.source = "new.csv", .columns = {numbers("x", {1}), text("y", {"d"})}};
  EXPECT_EQ(
      message_of([&] { encoder.encode(strange); }),
      "new.csv, line 1, column 'y': 'd' is not one of the classes of training: a, b, c; leave "
      "the row out, or fit a model that knows it");
  // Numbers are the same class however they are written, and a row is recognised by its class.
  const Encoder whole = fit_target(numbers("y", {0, 1, 1, 0}));
  const Table as_numbers{.columns = {numbers("x", {1}), numbers("y", {1})}};
  const Table as_text{.columns = {numbers("x", {1}), text("y", {"1.0"})}};
  EXPECT_EQ(whole.encode(as_text).targets, (Numbers{1}));
  EXPECT_EQ(whole.encode(as_text).hashes, whole.encode(as_numbers).hashes);
}

TEST(Classes, SayWhatTheyCannotBe) {
  EXPECT_EQ(message_of([] {
              fit_target(text("y", {"a", "a"}));
            }),
            "file.csv, column 'y': the target is a in every row: there is nothing to learn");
  Strings many;
  Numbers counted;
  for (int n = 0; n < 5000; ++n) {
    many.push_back("name" + std::to_string(n));
    counted.push_back(n);
  }
  EXPECT_EQ(
      message_of([&] { fit_target(text("y", many)); }),
      "file.csv, column 'y': the target has 5000 different texts, and there can be 200 classes "
      "at most; put rare ones together, or choose another target");
  EXPECT_EQ(
      message_of([&] { fit_target(numbers("y", counted), TargetKind::classes); }),
      "file.csv, column 'y': the target has more than 200 different numbers, and there can be "
      "200 classes at most; use the kind number");
  const Table two{.source = "file.csv",
                  .columns = {numbers("x", {1, 2}), text("y", {"a", "b"}), numbers("z", {1, 2})}};
  EXPECT_EQ(message_of([&] {
              Encoder::fit(two, {.targets = {"y", "z"}, .kind = TargetKind::automatic});
            }),
            "file.csv, column 'y': the target is a class, and a class must be the only target");
}

// ------------------------------------------------------------------------------- amounts and counts

TEST(AmountsAndCounts, AreFoundOrAskedFor) {
  const TargetColumn counts = fit_target(numbers("y", {0, 1, 2, 0})).targets[0];
  EXPECT_EQ(counts.kind, TargetKind::count);
  EXPECT_EQ(counts.reason, "whole numbers from 0 on");
  EXPECT_EQ(counts.mean, 0.75);
  EXPECT_EQ(fit_target(numbers("y", {0, 1, 2.5, 0})).targets[0].kind, TargetKind::number);
  EXPECT_EQ(fit_target(numbers("y", {-1, 1, 2, 0})).targets[0].kind, TargetKind::number);
  EXPECT_EQ(fit_target(numbers("y", {4, 1, 2, 3})).targets[0].kind, TargetKind::number);
  EXPECT_EQ(fit_target(numbers("y", {4, 1, 2, 3}), TargetKind::count).targets[0].kind,
            TargetKind::count);
  EXPECT_EQ(fit_target(numbers("y", {0, 1, 2, 0}), TargetKind::number).targets[0].reason, "");
  const TargetColumn amount =
      fit_target(numbers("y", {1, std::exp(2), 1, std::exp(2)}), TargetKind::amount).targets[0];
  EXPECT_DOUBLE_EQ(amount.mean, 1);
  EXPECT_DOUBLE_EQ(amount.deviation, 1);
}

TEST(AmountsAndCounts, AreEncoded) {
  const std::vector<double> values{1, 4, 2, 9};
  const Encoder amounts = fit_target(numbers("y", values), TargetKind::amount);
  const Encoder counts = fit_target(numbers("y", values), TargetKind::count);
  Table table{.source = "new.csv", .columns = {numbers("y", values), numbers("x", {1, 2, 3, 4})}};
  const std::vector<double> logs = amounts.encode(table).targets;
  double sum = 0;
  double squares = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    EXPECT_NEAR(amounts.targets[0].decoded(logs[n]), values[n], 1e-12);
    sum += logs[n];
    squares += logs[n] * logs[n];
  }
  EXPECT_NEAR(sum, 0, 1e-12);
  EXPECT_NEAR(squares, 4, 1e-12);
  EXPECT_EQ(counts.encode(table).targets, values);
  EXPECT_EQ(counts.targets[0].decoded(9), 9);
  EXPECT_EQ(counts.targets[0].log_unit(), 0);
  // -log density of y is that of log y, and log y.
  EXPECT_NEAR(amounts.targets[0].log_unit(),
              std::log(amounts.targets[0].deviation) + amounts.targets[0].mean, 1e-15);
}

TEST(AmountsAndCounts, WhatIsNoneIsRefused) {
  EXPECT_NE(message_of([&] {
              fit_target(numbers("y", {1, 0, 2}), TargetKind::amount);
            }).find("'0' is not positive"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              fit_target(numbers("y", {1, 2.5, 2}), TargetKind::count);
            }).find("'2.5' is not a whole number from 0"),
            std::string::npos);
  const Encoder amounts = fit_target(numbers("y", {1, 4, 2}), TargetKind::amount);
  const Encoder counts = fit_target(numbers("y", {1, 4, 2}), TargetKind::count);
  const Table wrong{.source = "new.csv", .columns = {numbers("y", {2, -1}), numbers("x", {1, 2})}};
  EXPECT_NE(message_of([&] { (void)amounts.encode(wrong); }).find("'-1' is not positive"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)counts.encode(wrong); }).find("'-1' is not a whole number"),
            std::string::npos);
  const Table two{
      .source = "file.csv",
      .columns = {numbers("y", {0, 1, 2}), numbers("z", {0, 1, 2}), numbers("x", {1, 2, 4})}};
  EXPECT_EQ(
      Encoder::fit(two, {.targets = {"y", "z"}, .kind = TargetKind::automatic}).targets[0].kind,
      TargetKind::number);
  EXPECT_EQ(message_of([&] {
              Encoder::fit(two, {.targets = {"y", "z"}, .kind = TargetKind::count});
            }),
            "file.csv, column 'y': the target is a count, and a count must be the only target");
}

// ----------------------------------------------------------------------------------------- options

TEST(Options, NameColumns) {
  const Table table = two_targets();
  const auto message = [&](const EncoderOptions& options) {
    return message_of([&] { Encoder::fit(table, options); });
  };
  EXPECT_EQ(message({}), "file.csv: no target was given");
  EXPECT_EQ(message({.targets = {"Y"}}), "file.csv: no column 'Y'; did you mean 'y'?");
  EXPECT_EQ(message({.targets = {"price"}}),
            "file.csv: no column 'price'; the columns are 'x', 'y', 'z', 't'");
  EXPECT_EQ(message({.targets = {"y"}, .features = {"X"}}),
            "file.csv: no column 'X'; did you mean 'x'?");
  EXPECT_EQ(message({.targets = {"y"}, .drop = {"X"}}),
            "file.csv: no column 'X'; did you mean 'x'?");
  EXPECT_EQ(message({.targets = {"y"}, .categorical = {"X"}}),
            "file.csv: no column 'X'; did you mean 'x'?");
  EXPECT_EQ(message({.targets = {"y", "y"}}), "file.csv, column 'y': named twice as a target");
  EXPECT_EQ(message({.targets = {"y"}, .features = {"x", "x"}}),
            "file.csv, column 'x': named twice as a feature");
  EXPECT_EQ(message({.targets = {"y"}, .features = {"y"}}),
            "file.csv, column 'y': both a target and a feature");
  EXPECT_EQ(message({.targets = {"y"}, .drop = {"y"}}),
            "file.csv, column 'y': both a target and dropped");
  EXPECT_EQ(message({.targets = {"y"}, .features = {"x"}, .drop = {"x"}}),
            "file.csv, column 'x': both a feature and dropped");
  EXPECT_EQ(message({.targets = {"y"}, .categorical = {"y"}}),
            "file.csv, column 'y': both a target and categorical; a target that is a class has the "
            "kind class");
  EXPECT_EQ(message({.targets = {"y"}, .drop = {"x", "z", "t"}}), "file.csv: no feature is left");
  EXPECT_NE(message({.targets = {"y"}, .most_categories = 0}), "no error");
  const Table constant = with_target(numbers("x", {2, 2}));
  EXPECT_EQ(message_of([&] { Encoder::fit(constant, {.targets = {"y"}}); }),
            "file.csv: no feature is left: 'x' (constant: 2)");
}

Strings names_of(const Encoder& encoder) {
  Strings names;
  for (const auto& feature : encoder.features) names.push_back(feature.name);
  return names;
}

TEST(Options, FeaturesRestrict) {
  const Table table = two_targets();
  const auto names = [&](const EncoderOptions& options) {
    return names_of(Encoder::fit(table, options));
  };
  EXPECT_EQ(names({.targets = {"y"}}), (Strings{"t", "x", "z"}));
  EXPECT_EQ(names({.targets = {"y"}, .features = {"x", "t"}}), (Strings{"t", "x"}));
  EXPECT_EQ(names({.targets = {"y"}, .drop = {"z"}}), (Strings{"t", "x"}));
}

// The order is that of the names alone, and of columns that were only numbered it is that of the numbers.
TEST(Order, IsTheNaturalOneOfTheNames) {
  const Strings ordered{"0",
                        "01",
                        "1",
                        "2",
                        "10",
                        "A1",
                        "B",
                        "a",
                        "a0",
                        "a01",
                        "a1",
                        "a1b1",
                        "a1b10",
                        "a02",
                        "a10",
                        "a10000",
                        "ab",
                        "c 2",
                        "c2",
                        "c9",
                        "c10",
                        "c100",
                        "c99999999999999999998",
                        "c99999999999999999999",
                        "x-1",
                        "x1",
                        "\xc3\xa4"};
  std::mt19937_64 engine(1);
  for (int repeat = 0; repeat < 100; ++repeat) {
    Table table = with_target(numbers("x", {1, 2}));
    table.columns.erase(table.columns.begin());
    for (const std::string& name : ordered) table.columns.push_back(numbers(name, {1, 2}));
    std::shuffle(table.columns.begin(), table.columns.end(), engine);
    ASSERT_EQ(names_of(Encoder::fit(table, {.targets = {"y"}})), ordered);
  }
}

TEST(Options, WantedColumns) {
  const Encoder encoder = Encoder::fit(two_targets(), {.targets = {"y"}});
  const auto wanted = encoder.wanted(true);
  ASSERT_EQ(wanted.size(), 4U);
  EXPECT_EQ(wanted[0].name, "t");
  EXPECT_EQ(wanted[0].type, CellType::text);
  EXPECT_EQ(wanted[2].name, "z");
  EXPECT_EQ(wanted[2].type, CellType::number);
  EXPECT_EQ(wanted[3].name, "y");
  EXPECT_EQ(wanted[3].type, CellType::number);
  EXPECT_EQ(encoder.wanted(false).size(), 3U);
}

// -------------------------------------------------------------------------------------- properties

// Columns of every kind, with empty cells, and two targets, the second with some missing.
Table draw_table(std::size_t rows, std::uint64_t seed) {
  special::Random random(seed);
  const auto cells = [&](double share_empty, const std::function<std::string()>& cell) {
    Strings result;
    for (std::size_t row = 0; row < rows; ++row) {
      result.push_back(random.uniform() < share_empty ? "" : cell());
    }
    return result;
  };
  const auto reals = [&](double share_empty, double mean, double width) {
    Numbers result;
    for (std::size_t row = 0; row < rows; ++row) {
      result.push_back(random.uniform() < share_empty ? empty : mean + width * random.normal());
    }
    return result;
  };
  const auto whole = [&](double limit) { return std::to_string(int(random.uniform(0, limit))); };
  return {
      .columns = {numbers("plain", reals(0, 5, 2)), numbers("holes", reals(0.2, -1e4, 10)),
                  text("flag", cells(0.1, [&] { return random.uniform() < 0.3 ? "yes" : "no"; })),
                  text("kind", cells(0.1, [&] { return "kind " + whole(8); })),
                  text("day", cells(0.1, [&] { return "2024-01-1" + whole(9.99); })),
                  numbers("first", reals(0, 0, 1)), numbers("second", reals(0.1, 100, 1))}};
}

const EncoderOptions both{.targets = {"first", "second"}};

RC_GTEST_PROP(Property, ColumnOrderAndOtherColumnsDoNotMatter, (std::uint64_t seed)) {
  const Table table = draw_table(*rc::gen::inRange<std::size_t>(20, 200), seed);
  const Encoder encoder = Encoder::fit(table, both);
  Table shuffled = table;
  shuffled.columns.push_back(numbers("more", Numbers(table.rows(), 1.5)));
  shuffled.columns.push_back(text("words", Strings(table.rows(), "word")));
  std::mt19937_64 engine(seed);
  std::shuffle(shuffled.columns.begin(), shuffled.columns.end(), engine);
  const auto one = encoder.encode(table);
  const auto two = encoder.encode(shuffled);
  RC_ASSERT(one.inputs == two.inputs);
  RC_ASSERT(one.targets == two.targets);
  RC_ASSERT(one.hashes == two.hashes);
  RC_ASSERT(one.without_target == two.without_target);
  const Encoder other = Encoder::fit(shuffled, both);
  RC_ASSERT(other.encode(table).inputs == one.inputs);
  RC_ASSERT(other.encode(table).hashes == one.hashes);
}

RC_GTEST_PROP(Property, TrainingDataHasMeanZeroAndDeviationOne, (std::uint64_t seed)) {
  const Table table = draw_table(*rc::gen::inRange<std::size_t>(20, 200), seed);
  const Encoder encoder = Encoder::fit(table, both);
  const auto encoded = encoder.encode(table);
  const std::size_t width = encoder.width();
  RC_ASSERT(encoder.input_names().size() == width);
  RC_ASSERT(encoded.inputs.size() == encoded.rows * width);
  std::size_t offset = 0;
  for (const auto& feature : encoder.features) {
    const bool scaled = feature.kind == ColumnKind::numeric || feature.kind == ColumnKind::datetime;
    double sum = 0;
    double squares = 0;
    double filled = 0;
    for (std::size_t row = 0; row < encoded.rows; ++row) {
      const double* cell = &encoded.inputs[row * width + offset];
      sum += cell[0];
      squares += cell[0] * cell[0];
      filled += feature.indicator ? 1 - cell[1] : 1;
    }
    if (scaled) {
      RC_ASSERT(std::abs(sum / filled) < 1e-10);
      RC_ASSERT(std::abs(squares / filled - 1) < 1e-10);
    }
    offset += feature.width();
  }
}

// Exactly one of a categorical feature's columns is 1, in training and for values never seen.
RC_GTEST_PROP(Property, OneCategoryPerCell, (std::uint64_t seed)) {
  const Table table = draw_table(60, seed);
  EncoderOptions options = both;
  options.most_categories = *rc::gen::inRange<std::size_t>(1, 10);
  options.features = {"kind"};
  const Encoder encoder = Encoder::fit(table, options);
  const auto encoded = encoder.encode_inputs(draw_table(60, seed + 1));
  for (std::size_t row = 0; row < encoded.rows; ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < encoder.width(); ++k) {
      sum += encoded.inputs[row * encoder.width() + k];
    }
    RC_ASSERT(sum == 1);
  }
}

// Another unit and another zero do not change what the network sees.
RC_GTEST_PROP(Property, UnitsDoNotMatter, (std::uint64_t seed)) {
  const Table table = draw_table(50, seed);
  const double unit = *rc::gen::element(0x1p-500, -0x1p-3, 0x1p500);
  Table scaled = table;
  for (Column& column : scaled.columns) {
    for (double& x : column.numbers) x *= unit;
  }
  EncoderOptions of_numbers = both;
  of_numbers.features = {"holes", "plain"};
  const auto one = Encoder::fit(table, of_numbers).encode(table);
  const auto two = Encoder::fit(scaled, of_numbers).encode(scaled);
  const double sign = unit < 0 ? -1 : 1;
  for (std::size_t row = 0; row < one.rows; ++row) {
    const std::size_t width = one.inputs.size() / one.rows;  // "holes is empty" stands between
    const std::size_t holes = row * width;
    const std::size_t plain = holes + width - 1;
    RC_ASSERT(two.inputs[holes] == sign * one.inputs[holes]);
    RC_ASSERT(two.inputs[plain] == sign * one.inputs[plain]);
    RC_ASSERT(two.targets[row] == sign * one.targets[row]);
  }
}

TEST(Property, SizesAndOffsetsDoNotMatter) {
  const Table table = draw_table(1000, 3);
  const auto one = Encoder::fit(table, both).encode(table);
  for (const auto& [unit, zero, tolerance] :
       {std::array{1e150, 0.0, 1e-11}, {1e-150, 0.0, 1e-11}, {1.0, 1e9, 1e-6}}) {
    Table moved = table;
    for (Column& column : moved.columns) {
      for (double& x : column.numbers) x = x * unit + zero;
    }
    const auto two = Encoder::fit(moved, both).encode(moved);
    for (std::size_t k = 0; k < one.inputs.size(); ++k) {
      ASSERT_NEAR(one.inputs[k], two.inputs[k], tolerance);
    }
    for (std::size_t k = 0; k < one.targets.size(); ++k) {
      ASSERT_NEAR(one.targets[k], two.targets[k], tolerance);
    }
  }
}

// ------------------------------------------------------------------------------------------ hashes

std::vector<std::uint64_t> hashes_of(const Encoder& encoder, const Table& table) {
  return encoder.encode(table).hashes;
}

TEST(Hashes, DependOnEveryCell) {
  const Table table = draw_table(40, 5);
  const Encoder encoder = Encoder::fit(table, both);
  const auto before = encoder.encode(table);
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    for (std::size_t k = 0; k < before.rows; ++k) {
      const std::size_t row = before.table_rows[k];
      Table changed = table;
      Column& cells = changed.columns[column];
      if (cells.is_text) {
        cells.codes[row] = cells.codes[row] == 0 ? 1 : 0;
      } else {
        cells.numbers[row] = cells.empty(row) ? 0 : std::nextafter(cells.numbers[row], 1e9);
      }
      const auto after = encoder.encode(changed);
      for (std::size_t other = 0; other < before.rows; ++other) {
        ASSERT_EQ(after.hashes[other] == before.hashes[other], other != k);
      }
    }
  }
}

TEST(Hashes, ReadCellsAsTheyMean) {
  const Encoder encoder = fit(numbers("x", {0, 1, empty}));
  const auto hash = [&](double x) {
    return hashes_of(encoder, {.columns = {numbers("x", {x}), numbers("y", {2})}})[0];
  };
  EXPECT_EQ(hash(-0.0), hash(0.0));
  EXPECT_EQ(hash(std::nan("1")), hash(-empty));
  EXPECT_NE(hash(empty), hash(0));
  const Table as_text{.columns = {text("x", {"1.0"}), text("y", {"2"})}};
  EXPECT_EQ(hashes_of(encoder, as_text)[0], hash(1));
  // Numbers as categories: the same row, read either way.
  const Encoder categories = fit(numbers("x", {3, 4, 3}), {.categorical = {"x"}});
  EXPECT_EQ(hashes_of(categories, {.columns = {numbers("x", {3}), numbers("y", {1})}}),
            hashes_of(categories, {.columns = {text("x", {"3.0"}), numbers("y", {1})}}));
}

TEST(Hashes, TellTextsApart) {
  Strings cells{"a",
                "b",
                "aa",
                "ab",
                "a b",
                std::string(1, '\0') + "a",
                std::string("a\0", 2),
                "12345678",
                "123456789",
                "12345678\x01",
                "1234567812345678",
                ""};
  for (int k = 0; k < 1000; ++k) cells.push_back("value " + std::to_string(k));
  const Table table = with_target(text("x", cells));
  Table same_target = table;
  const Encoder encoder = fit(table.columns[0], {.categorical = {"x"}});
  same_target.columns[1].numbers.assign(cells.size(), 1);
  auto hashes = hashes_of(encoder, same_target);
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

// ------------------------------------------------------------------------------------------ pieces

std::string described(const Encoder& encoder) {
  std::string result;
  const auto exactly = [](double number) {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%a ", number);
    return std::string(digits.data());
  };
  for (const FeatureColumn& f : encoder.features) {
    result += f.name + " " + std::string(name_of(f.kind)) + " " + exactly(f.mean) +
              exactly(f.deviation) + (f.indicator ? "i" : "") + (f.text ? "t " : " ") +
              std::string(name_of(f.dates));
    for (const std::string& category : f.categories) result += "|" + category;
    result += "\n";
  }
  for (const TargetColumn& t : encoder.targets) {
    result += t.name + " " + exactly(t.mean) + exactly(t.deviation) + "\n";
  }
  for (const DroppedColumn& d : encoder.dropped) result += d.name + ": " + d.reason + "\n";
  return result;
}

// The table's rows from `first` on, as a file read in pieces has them: codes of text are the piece's own.
Table piece_of(const Table& table, std::size_t first, std::size_t count) {
  Table piece{.source = table.source, .first_line = table.line(first)};
  for (const Column& column : table.columns) {
    Column part{.name = column.name, .is_text = column.is_text};
    std::map<std::uint32_t, std::uint32_t> codes{{Column::empty_cell, Column::empty_cell}};
    for (std::size_t row = first; row < std::min(first + count, table.rows()); ++row) {
      if (!column.is_text) {
        part.numbers.push_back(column.numbers[row]);
        continue;
      }
      const auto next = std::uint32_t(part.values.size());
      const auto [code, is_new] = codes.emplace(column.codes[row], next);
      if (is_new) part.values.push_back(column.values[column.codes[row]]);
      part.codes.push_back(code->second);
    }
    piece.columns.push_back(std::move(part));
  }
  return piece;
}

// What comes of the table in pieces of so many rows: the encoder, or the error.
std::string in_pieces(const Table& table, std::size_t rows, const EncoderOptions& options) {
  std::string result;
  const std::string error = message_of([&] {
    EncoderBuilder builder(options);
    for (std::size_t first = 0; first < table.rows(); first += rows) {
      builder.add(piece_of(table, first, rows));
    }
    result = described(builder.finish());
  });
  return result.empty() ? error : result;
}

RC_GTEST_PROP(Pieces, MakeTheSameEncoder, (std::uint64_t seed)) {
  const Table table = draw_table(*rc::gen::inRange<std::size_t>(20, 200), seed);
  const std::string whole = described(Encoder::fit(table, both));
  for (const std::size_t rows : {1U, 3U, 50U}) RC_ASSERT(in_pieces(table, rows, both) == whole);
}

TEST(Pieces, MakeTheSameErrors) {
  const Strings days{"1/2/2024", "3/4/2024", "5/6/2024", "7/8/2024", "", "9/9/2024"};
  const Table unclear = with_target(text("d", days));
  Table bad_target = with_target(text("d", days));
  bad_target.columns[1] = text("y", {"1", "2", "3", "4", "high", "low"});
  Table same_target = unclear;
  same_target.columns[1].numbers.assign(6, 4);
  Table no_target = unclear;
  no_target.columns[1].numbers.assign(6, empty);
  const Table nothing_left = with_target(numbers("x", Numbers(6, 3)));
  const EncoderOptions options{.targets = {"y"}};
  for (const Table& table : {unclear, bad_target, same_target, no_target, nothing_left}) {
    const std::string whole = message_of([&] { Encoder::fit(table, options); });
    EXPECT_NE(whole, "no error");
    for (const std::size_t rows : {1U, 2U, 5U}) EXPECT_EQ(in_pieces(table, rows, options), whole);
  }
}

TEST(Pieces, AColumnMayBeginEmpty) {
  EncoderBuilder builder({.targets = {"y"}});
  builder.add({.columns = {numbers("x", {empty, empty}), numbers("y", {1, 2})}});
  builder.add({.columns = {text("x", {"red", "blue", "red"}), numbers("y", {1, 2, 3})}});
  const Encoder encoder = builder.finish();
  EXPECT_TRUE(encoder.features.at(0).text);
  EXPECT_EQ(encoder.features.at(0).categories, Strings({"red", "blue", ""}));
  EXPECT_EQ(message_of([&] {
              builder.add({.columns = {numbers("x", {1}), numbers("y", {1})}});
            }),
            "the table, column 'x': is text in one piece of the table and numbers in another");
}

// More distinct values than are remembered: the frequent ones are found, and so is what is an id.
TEST(Pieces, ManyDistinctValues) {
  constexpr std::size_t rows = 400'000;
  special::Random random(7);
  Column id{.name = "id", .is_text = true};
  Column product{.name = "product", .is_text = true};
  Numbers target;
  for (std::uint32_t k = 0; k < 100'000; ++k)
    product.values.push_back("product " + std::to_string(k));
  for (std::uint32_t row = 0; row < rows; ++row) {
    id.values.push_back("id " + std::to_string(row));
    id.codes.push_back(row);
    // One row in 50 has one of 20 products that are sold often, the other rows any.
    const bool often = random.uniform() < 0.02;
    product.codes.push_back(std::uint32_t(random.uniform(0, often ? 20 : 100'000)));
    target.push_back(random.normal());
  }
  const Table table{.columns = {id, product, numbers("y", target)}};
  const EncoderOptions options{.targets = {"y"}, .most_categories = 20};
  const Encoder encoder = Encoder::fit(table, options);
  ASSERT_EQ(encoder.dropped.size(), 1U);
  EXPECT_EQ(encoder.dropped[0].name, "id");
  Strings found = encoder.features.at(0).categories;
  std::sort(found.begin(), found.end());
  Strings often(product.values.begin(), product.values.begin() + 20);
  std::sort(often.begin(), often.end());
  EXPECT_EQ(found, often);
  EXPECT_EQ(in_pieces(table, 10'007, options), described(encoder));
}

TEST(Hashes, AMillionRowsDoNotCollide) {
  // Small whole numbers: few bits differ, and most of them stand where a multiplication loses them.
  Table table{.columns = {numbers("x", {}), numbers("w", {}), numbers("y", {})}};
  for (int k = 0; k < 1'000'000; ++k) {
    table.columns[0].numbers.push_back(k % 100);
    table.columns[1].numbers.push_back(k / 100 % 100);
    const int tens_of_thousands = k / 10'000;
    table.columns[2].numbers.push_back(tens_of_thousands);
  }
  auto hashes = hashes_of(Encoder::fit(table, {.targets = {"y"}}), table);
  // Every bit is set in half of the rows.
  for (int bit = 0; bit < 64; ++bit) {
    const auto set = std::count_if(hashes.begin(), hashes.end(),
                                   [&](std::uint64_t hash) { return (hash >> bit & 1) != 0; });
    EXPECT_NEAR(double(set), 500'000, 3000);  // six deviations
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace
}  // namespace dma
