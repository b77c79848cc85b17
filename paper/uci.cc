#include "paper/uci.h"

#include <dma/data/csv.h>
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "cli/bad_input.h"
#include "cli/progress.h"
#include "paper/jobs.h"
#include "paper/part.h"
#include "paper/splits.h"

namespace dma::cli {
namespace {

// The plain or the compressed file, whichever exists.
std::filesystem::path find_file(const std::filesystem::path& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    if (std::filesystem::exists(folder / (name + ending))) return folder / (name + ending);
  }
  throw BadInput((folder / name).string() + ": not found, plain or as .gz");
}

std::string read_text(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw BadInput(path.string() + ": cannot be opened");
  std::string text;
  std::array<char, 1 << 16> piece{};
  for (int got = 0; (got = gzread(file.get(), piece.data(), piece.size())) != 0;) {
    if (got < 0) throw BadInput(path.string() + ": cannot be read");
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

struct Split {
  std::vector<std::size_t> train, test;
};

Split split_of(const UciTable& table, std::size_t split) {
  Split rows{other_rows(table.test_rows[split], table.table.rows()), table.test_rows[split]};
  if (!table.inner) return rows;
  const auto outer = std::move(rows.train);
  rows = {};
  for (std::size_t n = 0; n < outer.size(); ++n) {
    (n % 10 == split % 10 ? rows.test : rows.train).push_back(outer[n]);
  }
  return rows;
}

// Test rows never reach the fit: they are removed from the table first.
SplitScore run_split(const UciTable& table, std::size_t split, const RegressorOptions& options) {
  const Split rows = split_of(table, split);
  RegressorOptions own = options;
  own.target = table.table.columns.back().name;
  own.seed = split + 1;
  own.threads = 1;
  const Regressor model = Regressor::fit(select_rows(table.table, rows.train), own,
                                         [](const auto&) { return !Interruption::asked(); });
  return {model.evaluate(select_rows(table.table, rows.test), 1).front(),
          model.report().cavity_nll(), model.report().seconds};
}

template <class Value>
Summary summarise(const std::vector<SplitScore>& scores, const Value& value) {
  Summary summary;
  const auto count = static_cast<double>(scores.size());
  for (const SplitScore& score : scores) summary.mean += value(score) / count;
  double square = 0;
  for (const SplitScore& score : scores) square += std::pow(value(score) - summary.mean, 2);
  summary.error = scores.size() > 1 ? std::sqrt(square / (count - 1) / count) : 0;
  return summary;
}

}  // namespace

UciTable read_uci(const std::filesystem::path& folder, const UciSet& published, std::size_t splits,
                  bool inner) {
  const std::string file(published.file);
  UciTable result{&published, read_csv(find_file(folder, file + ".csv")), {}, inner};
  const std::filesystem::path splits_file = find_file(folder, file + ".splits.json");
  result.test_rows =
      parse_splits(read_text(splits_file), splits_file.string(), result.table.rows());
  if (splits > 0 && splits < result.test_rows.size()) result.test_rows.resize(splits);
  return result;
}

std::vector<std::vector<SplitScore>> run_splits(const std::vector<UciTable>& tables,
                                                const RegressorOptions& options,
                                                std::size_t threads) {
  std::vector<std::vector<SplitScore>> scores(tables.size());
  std::vector<std::pair<std::size_t, std::size_t>> jobs;
  for (std::size_t s = 0; s < tables.size(); ++s) {
    scores[s].resize(tables[s].test_rows.size());
    for (std::size_t split = 0; split < scores[s].size(); ++split) jobs.emplace_back(s, split);
  }
  // The largest set comes first, so that no thread is left with it at the end.
  std::stable_sort(jobs.begin(), jobs.end(), [&](const auto& a, const auto& b) {
    return tables[a.first].table.rows() > tables[b.first].table.rows();
  });
  run_jobs(jobs.size(), threads, [&](std::size_t j) {
    const auto [s, split] = jobs[j];
    const SplitScore one = run_split(tables[s], split, options);
    scores[s][split] = one;
    fmt::print(stderr, "{:<10} split {:>2}  RMSE {:<9.4g} LL {:<8.4f} {:6.1f} s\n",
               tables[s].published->name, split, one.test.rmse, -one.test.nll, one.seconds);
  });
  if (Interruption::asked()) throw BadInput("interrupted before all splits were finished");
  return scores;
}

SetScore summarise(const UciTable& table, const std::vector<SplitScore>& scores) {
  SetScore result{table.published, scores.size(), {}, {}, {}, {}, {}, {}, {}};
  const std::vector first(scores.begin(),
                          scores.begin() + std::min<std::ptrdiff_t>(5, std::ssize(scores)));
  result.first_rmse = summarise(first, [](const auto& one) { return one.test.rmse; });
  result.first_ll = summarise(first, [](const auto& one) { return -one.test.nll; });
  result.rmse = summarise(scores, [](const auto& one) { return one.test.rmse; });
  result.ll = summarise(scores, [](const auto& one) { return -one.test.nll; });
  result.cavity_ll = summarise(scores, [](const auto& one) { return -one.cavity_nll; });
  result.seconds = summarise(scores, [](const auto& one) { return one.seconds; });
  for (std::size_t k = 0; k < result.coverage.size(); ++k) {
    result.coverage[k] =
        summarise(scores, [k](const auto& one) { return one.test.coverage[k]; }).mean;
  }
  return result;
}

}  // namespace dma::cli
