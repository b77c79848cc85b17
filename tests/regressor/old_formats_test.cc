// Model files that earlier versions wrote, and what these versions predicted with them: tests/regressor/old_models.
#include <dma/data/csv.h>
#include <dma/regressor/model_file.h>
#include <dma/regressor/regressor.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

namespace dma {
namespace {

const std::string folder = DMA_SOURCE_DIR "/tests/regressor/old_models/";

const Column& column(const Table& table, const std::string& name) {
  for (const Column& column : table.columns) {
    if (column.name == name) return column;
  }
  throw std::runtime_error("no column " + name);
}

class OldFormat : public testing::TestWithParam<std::string> {};

// Up to rounding: sums are taken in another order today. Not what is said of cells that training had none like; and
// deviations, which were roots of variances, are today what lies between quantiles.
TEST_P(OldFormat, PredictsWhatItPredictedThen) {
  const Regressor model = Regressor::load(folder + GetParam() + ".safetensors");
  const auto predicted = model.predict(read_csv(folder + "rows.csv"));
  const Table then = read_csv(folder + GetParam() + ".csv");
  ASSERT_EQ(then.rows(), predicted.size());
  const auto unseen = model.encoder().encode_inputs(read_csv(folder + "rows.csv")).unseen;
  for (std::size_t n = 0; n < predicted.size(); ++n) {
    const auto is_here = [&](const UnseenCell& cell) { return cell.row == n; };
    if (std::any_of(unseen.begin(), unseen.end(), is_here)) continue;
    const Predicted& now = predicted[n];
    for (std::size_t k = 0; k < now.probabilities.size(); ++k) {
      const std::string& name = model.encoder().targets.front().classes[k];
      EXPECT_NEAR(now.probabilities[k], column(then, "p_" + name).numbers[n], 1e-9);
    }
    if (!now.probabilities.empty()) continue;
    const double size = 1e-9 * now.stddev();
    EXPECT_NEAR(now.mean, column(then, "mean").numbers[n], size);
    EXPECT_NEAR(now.lower(), column(then, "lower").numbers[n], size);
    EXPECT_NEAR(now.upper(), column(then, "upper").numbers[n], size);
  }
}

// Written anew, it is a file of today's format that says the same, and its rows can still be forgotten.
TEST_P(OldFormat, CanBeWrittenAnewAndChanged) {
  Regressor model = Regressor::load(folder + GetParam() + ".safetensors");
  const auto bytes = model.to_bytes();
  EXPECT_EQ(Regressor::from_bytes(bytes).to_bytes(), bytes);
  const std::size_t rows = model.report().rows;
  model.forget_batch(0);
  EXPECT_LT(model.report().rows, rows);
}

// Epochs and patience meant something else before format 9. These fits were made with --epochs 5, of a joint belief those
// of its first stage, and with no patience, which was three settled epochs, or one.
TEST_P(OldFormat, HasItsOptionsInTheWordsOfToday) {
  const RegressorOptions options =
      Regressor::load(folder + GetParam() + ".safetensors").model().options;
  const bool joint = options.belief == BeliefKind::joint;
  EXPECT_EQ(options.epochs, joint ? 70U : 5U);
  EXPECT_EQ(options.patience, joint ? 3U : 1U);
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") found.push_back(entry.path().stem().string());
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(EachFile, OldFormat, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

TEST(OldFormats, AreAllHere) {
  const auto found = names();
  for (int format = oldest_model_format_version; format < model_format_version; ++format) {
    for (const char* belief : {"joint", "independent"}) {
      const std::string name = "format" + std::to_string(format) + "_" + belief;
      EXPECT_EQ(std::count(found.begin(), found.end(), name), 1) << name;
    }
  }
}

}  // namespace
}  // namespace dma
