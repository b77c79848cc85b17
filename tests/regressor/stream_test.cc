// A file learnt in one pass: the same bits however it is read, as good as in memory, errors in their place.
#include <dma/regressor/stream.h>

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include <dma/regressor/model_file.h>

#include "regressor/beliefs.h"
#include "regressor/wave_table.h"
#include "scratch.h"

namespace dma {
namespace {

using test::Scratch;
using test::wave_table;

RegressorOptions one_pass(std::size_t members = 2) {
  return {
      .target = "y", .hidden = {10}, .epochs = 1, .ledger = LedgerMode::none, .ensemble = members};
}

// The wave, with a column of text that has numbers in its first cells.
std::string wave_csv(std::size_t rows, std::uint64_t seed) {
  const Table table = wave_table(rows, 0.3, seed);
  std::ostringstream text;
  text.precision(10);
  text << "a,b,kind,y\n";
  for (std::size_t n = 0; n < rows; ++n) {
    text << table.columns[0].numbers[n] << ',' << table.columns[1].numbers[n] << ','
         << (n < rows / 2 ? "7"
             : n % 3 == 0 ? "red"
                          : "blue")
         << ',' << table.columns[2].numbers[n] << '\n';
  }
  return text.str();
}

std::string bytes_of(const Regressor& model) {
  const auto bytes = model.to_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

double mean_nll(const Regressor& model, const Table& table) {
  return model.evaluate(table).front().nll;
}

TEST(Stream, TheBitsDoNotDependOnPiecesBlocksOrThreads) {
  const Scratch scratch;
  const std::string path = scratch.file("t.csv", wave_csv(3000, 1));
  RegressorOptions options = one_pass(3);
  options.threads = 1;
  const std::string bits = bytes_of(fit_stream({path}, options));
  for (const std::size_t rows : {1U, 7U, 1000U, 100'000U}) {
    options.threads = rows == 7 ? 1 : 0;
    const StreamedFile file{.path = path, .csv = {.block = 10 + rows}, .piece_rows = rows};
    EXPECT_EQ(bytes_of(fit_stream(file, options)), bits) << rows;
  }
  options.seed = 2;
  EXPECT_NE(bytes_of(fit_stream({path}, options)), bits);
}

TEST(Stream, WindowsDoNotDependOnPiecesEither) {
  // A table so wide that a window has few rows: 16 MB are 2,000 rows of 1,000 columns and a target.
  const Scratch scratch;
  std::string text = "y";
  for (int k = 0; k < 1000; ++k) text += ",x" + std::to_string(k);
  special::Random random(1);
  for (int row = 0; row < 5000; ++row) {
    text += "\n" + std::to_string(random.normal());
    for (int k = 0; k < 1000; ++k) text += random.uniform() < 0.5 ? ",0" : ",1";
  }
  const std::string path = scratch.file("t.csv", text);
  RegressorOptions options = one_pass(1);
  options.hidden = {1};
  std::size_t steps = 0;
  const Regressor model = fit_stream({path}, options, [&](const StreamProgress& now) {
    ++steps;
    EXPECT_LE(now.share, 1);
    return true;
  });
  EXPECT_EQ(steps, 7U);  // 2095, 2095 and 810 rows in steps of 1024: 3 + 3 + 1
  const StreamedFile file{.path = path, .piece_rows = 999};
  EXPECT_EQ(bytes_of(fit_stream(file, options)), bytes_of(model));
}

TEST(Stream, FindsTheEncoderOfTheTable) {
  const Scratch scratch;
  const std::string path = scratch.file("t.csv", wave_csv(500, 1));
  const Encoder whole = Regressor::encoder_for(read_csv(path), one_pass());
  const StreamedTable found = look_through({.path = path, .piece_rows = 64}, one_pass());
  ASSERT_EQ(found.encoder.features.size(), whole.features.size());
  for (std::size_t k = 0; k < whole.features.size(); ++k) {
    EXPECT_EQ(found.encoder.features[k].mean, whole.features[k].mean);
    EXPECT_EQ(found.encoder.features[k].deviation, whole.features[k].deviation);
    EXPECT_EQ(found.encoder.features[k].reach, whole.features[k].reach);
    EXPECT_EQ(found.encoder.features[k].categories, whole.features[k].categories);
  }
  EXPECT_EQ(whole.features[2].kind, ColumnKind::categorical);
  EXPECT_EQ(found.encoder.targets[0].mean, whole.targets[0].mean);
  EXPECT_EQ(found.rows, 500U);
  EXPECT_EQ(found.columns, 4U);
}

TEST(Stream, IsAtLeastAsGoodAsInMemory) {
  const Scratch scratch;
  const Table test = wave_table(4000, 0.3, 9);
  const Table train = wave_table(20'000, 0.3, 1);
  std::ostringstream text;
  text.precision(17);
  text << "a,b,y\n";
  for (std::size_t n = 0; n < train.rows(); ++n) {
    text << train.columns[0].numbers[n] << ',' << train.columns[1].numbers[n] << ','
         << train.columns[2].numbers[n] << '\n';
  }
  const std::string path = scratch.file("t.csv", text.str());
  const Regressor stream = fit_stream({path}, one_pass(4));
  EXPECT_LT(mean_nll(stream, test), mean_nll(Regressor::fit(train, one_pass(4)), test) + 0.01);
  // The deviation of the noise is 1.5: nothing predicts better than this.
  EXPECT_LT(mean_nll(stream, test), std::log(1.5) + 1.42 + 0.25);
}

TEST(Stream, ReportsWhatOnePassCanKnow) {
  const Scratch scratch;
  std::string text = wave_csv(3000, 1);
  text += "1,2,red,\n3,4,blue,\n";
  const Regressor model = fit_stream({scratch.file("t.csv", text)}, one_pass());
  const FitReport& report = model.report();
  EXPECT_TRUE(report.stream);
  EXPECT_EQ(report.rows, 3000U);
  EXPECT_EQ(report.rows_without_target, 2U);
  EXPECT_EQ(report.cavity.front().values, 3000U);
  EXPECT_TRUE(std::isnan(report.train_nll));
  EXPECT_TRUE(report.training.empty());
  EXPECT_GE(report.certificate.examples, 200U);
  EXPECT_GT(report.rows_per_second(), 0);
  EXPECT_EQ(report.stopped, Stopped::max_epochs);
  // Nothing grows with the rows.
  EXPECT_TRUE(model.model().row_hashes.empty());
  EXPECT_TRUE(model.model().batch_rows.empty());
  const Regressor again = Regressor::from_bytes(model.to_bytes());
  EXPECT_EQ(bytes_of(again), bytes_of(model));
}

TEST(Stream, CanLearnMoreButNotForget) {
  const Scratch scratch;
  const std::string path = scratch.file("t.csv", wave_csv(3000, 1));
  Regressor model = fit_stream({path}, one_pass());
  const auto noise = [&] {
    return noise_variance(test::independent<double>(model.model(), 0).likelihood());
  };
  const auto noise_before = noise();
  const Table more = read_csv(scratch.file("more.csv", wave_csv(200, 2)));
  const double before = mean_nll(model, more);
  const ChangeReport change = model.update(more);
  EXPECT_EQ(change.rows_added, 200U);
  EXPECT_EQ(model.report().rows, 3200U);
  EXPECT_LT(mean_nll(model, more), before);
  EXPECT_EQ(noise(), noise_before);  // the old rows are not here: it stands
  EXPECT_NE(error_of([&] { model.forget_rows(more); }).find("only a model with the ledger 'full'"),
            std::string::npos);
  EXPECT_NE(error_of([&] { model.update(more, {.data = &more}); }).find("learnt from a stream"),
            std::string::npos);
}

TEST(Stream, HoldsRowsOutAsTheSeedSays) {
  const Scratch scratch;
  const StreamedFile file{.path = scratch.file("t.csv", wave_csv(3000, 1)), .holdout = 0.2};
  const StreamedTable found = look_through(file, one_pass());
  special::Random random(one_pass().seed);
  std::vector<std::size_t> kept;
  std::vector<std::size_t> held_out;
  for (std::size_t row = 0; row < 3000; ++row) {
    (random.uniform() < 0.2 ? held_out : kept).push_back(row);
  }
  EXPECT_EQ(found.held_out, held_out.size());
  const Table whole = read_csv(file.path);
  const Encoder encoder = Regressor::encoder_for(select_rows(whole, kept), one_pass());
  EXPECT_EQ(found.encoder.targets[0].mean, encoder.targets[0].mean);
  const Regressor model = fit_stream(file, one_pass());
  EXPECT_EQ(model.report().rows, kept.size());
  const Metrics streamed = evaluate_stream(model, file).front();
  const Metrics at_once = model.evaluate(select_rows(whole, held_out)).front();
  EXPECT_EQ(streamed.values, held_out.size());
  EXPECT_NEAR(streamed.nll, at_once.nll, 1e-12);
}

TEST(Stream, NamesTheCellThatIsWrong) {
  const Scratch scratch;
  const auto said = [&](const std::string& text) {
    const std::string path = scratch.file("t.csv", text);
    const CsvOptions strict{.strict = true};
    const std::string streamed = error_of([&] { fit_stream({path, strict}, one_pass()); });
    EXPECT_EQ(streamed, error_of([&] { Regressor::fit(read_csv(path, strict), one_pass()); }));
    return streamed.substr(std::min(streamed.size(), path.size()));
  };
  const std::string good = wave_csv(10'000, 1);
  EXPECT_EQ(
      said(good + "1,2,red,high\n"),
      ", line 10002, column 'y': 'high' is not a number, but 10000 of 10001 cells are; correct "
      "it, or leave out --strict");
  EXPECT_EQ(said(good + "1,inf,red,3\n"),
            ", line 10002, column 'b': 'inf' is not finite; leave the cell empty if the number is "
            "unknown");
  EXPECT_EQ(said(good + "1,2,red\n"), ", line 10002: expected 4 cells as in line 1, found 3");
}

// Stray cells at the beginning, in the middle and at the end of a column; the same model from a table in memory, and
// however the file is divided.
TEST(Stream, CountsStrayCells) {
  const Scratch scratch;
  std::string text = wave_csv(500, 1);
  const std::size_t first = text.find('\n') + 1;
  text.insert(first, "unknown,2,red,3\n");
  text += "1,2,blue,high\n1,unknown,red,2\n";
  const std::string path = scratch.file("t.csv", text);
  const Table table = read_csv(path);
  const Encoder encoder = Regressor::encoder_for(table, one_pass());
  std::string bytes;
  for (const std::size_t rows : {1U, 7U, 501U, 4096U}) {
    const StreamedFile file{.path = path, .piece_rows = rows};
    const StreamedTable found = look_through(file, one_pass());
    EXPECT_EQ(found.notes.stray_cells(), 3U);
    EXPECT_EQ(found.without_target, 1U);
    EXPECT_EQ(found.encoder.features[0].mean, encoder.features[0].mean);
    EXPECT_TRUE(found.encoder.features[0].indicator);
    const std::string model = bytes_of(fit_stream(file, one_pass()));
    if (bytes.empty()) bytes = model;
    EXPECT_EQ(model, bytes) << rows;
  }
}

TEST(Stream, StopsWhenAsked) {
  const Scratch scratch;
  const std::string path = scratch.file("t.csv", wave_csv(5000, 1));
  const Regressor model =
      fit_stream({path}, one_pass(), [](const StreamProgress& now) { return now.rows < 2048; });
  EXPECT_EQ(model.report().stopped, Stopped::interrupted);
  EXPECT_EQ(model.report().rows, 2048U);
  EXPECT_EQ(model.report().cavity.front().values, 2048U);
}

TEST(Stream, ReadsGzip) {
  const Scratch scratch;
  const std::string text = wave_csv(2000, 1);
  const std::string path = scratch.path("t.csv.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  EXPECT_EQ(bytes_of(fit_stream({path}, one_pass())),
            bytes_of(fit_stream({scratch.file("t.csv", text)}, one_pass())));
}

TEST(Stream, IsForOnePassOverAFile) {
  const Scratch scratch;
  const std::string path = scratch.file("t.csv", wave_csv(100, 1));
  RegressorOptions options = one_pass();
  options.epochs = 2;
  EXPECT_NE(error_of([&] { fit_stream({path}, options); }).find("one pass"), std::string::npos);
  EXPECT_NE(error_of([&] { fit_stream({"-"}, one_pass()); }).find("cannot be read twice"),
            std::string::npos);
}

TEST(HeldOutRows, AreDrawnAmongThoseWithATargetAndAWeight) {
  Table table;
  table.columns = {{.name = "x"}, {.name = "w"}, {.name = "y"}};
  for (std::size_t n = 0; n < 3000; ++n) {
    table.columns[0].numbers.push_back(static_cast<double>(n));
    table.columns[1].numbers.push_back(n % 3 == 0 ? 0 : 2);
    table.columns[2].numbers.push_back(n % 3 == 1 ? std::nan("") : 1);
  }
  const auto rows = [&](bool held_out) {
    return HeldOutRows(0.2, 1, {"y"}, "w").choose(table, held_out);
  };
  const std::vector<double> held = rows(true).columns[0].numbers;
  EXPECT_NEAR(static_cast<double>(held.size()), 200, 40);
  for (const double x : held) EXPECT_EQ(static_cast<std::size_t>(x) % 3, 2U);
  EXPECT_EQ(rows(false).rows() + held.size(), 3000U);
  // In pieces they are the same.
  HeldOutRows in_pieces(0.2, 1, {"y"}, "w");
  std::vector<double> found;
  for (std::size_t first = 0; first < 3000; first += 700) {
    std::vector<std::size_t> piece(std::min<std::size_t>(700, 3000 - first));
    std::iota(piece.begin(), piece.end(), first);
    const Table part = in_pieces.choose(select_rows(table, piece), true);
    found.insert(found.end(), part.columns[0].numbers.begin(), part.columns[0].numbers.end());
  }
  EXPECT_EQ(found, held);
}

}  // namespace
}  // namespace dma
