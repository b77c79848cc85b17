#include "paper/sets.h"

#include <dma/data/csv.h>
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

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

struct Split {
  std::vector<std::size_t> train, test;
};

Split split_of(const BenchmarkSet& set, std::size_t split) {
  Split rows{other_rows(set.test_rows[split], set.table.rows()), set.test_rows[split]};
  if (!set.inner) return rows;
  const auto outer = std::move(rows.train);
  rows = {};
  for (std::size_t n = 0; n < outer.size(); ++n) {
    (n % 10 == split % 10 ? rows.test : rows.train).push_back(outer[n]);
  }
  return rows;
}

// Test rows never reach the fit: they are removed from the table first.
SplitScore run_split(const BenchmarkSet& set, std::size_t split, const RegressorOptions& options) {
  const Split rows = split_of(set, split);
  RegressorOptions own = options;
  own.target = set.target;
  own.kind = set.kind;
  own.seed = split + 1;
  own.threads = 1;
  const Regressor model = Regressor::fit(select_rows(set.table, rows.train), own,
                                         [](const auto&) { return !Interruption::asked(); });
  return {model.evaluate(select_rows(set.table, rows.test), 1).front(), model.report().cavity_nll(),
          model.report().seconds};
}

// Sets whose target is a class, though it may be written as a number.
struct ClassSet {
  std::string_view file;
  std::string_view target = {};  // empty: the last column
};
constexpr std::array<ClassSet, 10> class_sets{{{"adult"},
                                               {"banknote"},
                                               {"ecoli"},
                                               {"german"},
                                               {"glass"},
                                               {"ionosphere"},
                                               {"pima"},
                                               {"seeds"},
                                               {"sonar"},
                                               {"titanic", "survived"}}};

FoundSet found(const std::string& file) {
  for (const UciSet& set : uci_sets) {
    if (set.file == file) return {std::string(set.name), file, &set};
  }
  return {file, file, nullptr};
}

// The file's name without its ending, if it has this one.
std::optional<std::string> stem(const std::filesystem::path& file, std::string_view ending) {
  std::string name = file.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (!name.ends_with(ending)) return {};
  return name.substr(0, name.size() - ending.size());
}

}  // namespace

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

std::vector<FoundSet> sets_in(const std::filesystem::path& folder) {
  std::set<std::string> tables;
  std::set<std::string> splits;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (const auto name = stem(entry.path(), ".csv")) tables.insert(*name);
    if (const auto name = stem(entry.path(), ".splits.json")) splits.insert(*name);
  }
  if (error) throw BadInput(folder.string() + ": " + error.message());
  std::vector<FoundSet> sets;
  for (const std::string& name : tables) {
    if (splits.contains(name)) sets.push_back(found(name));
  }
  if (sets.empty()) {
    throw BadInput(folder.string() + ": no NAME.csv here has a NAME.splits.json, plain or as .gz");
  }
  std::ranges::sort(sets, {}, &FoundSet::name);
  return sets;
}

BenchmarkSet read_set(const std::filesystem::path& folder, const FoundSet& found, TargetKind kind,
                      std::size_t splits, bool inner) {
  BenchmarkSet set;
  set.name = found.name;
  set.published = found.published;
  set.inner = inner;
  set.table = read_csv(find_file(folder, found.file + ".csv"));
  const auto known = std::ranges::find(class_sets, found.file, &ClassSet::file);
  const bool has_classes = known != class_sets.end();
  set.target = has_classes && !known->target.empty() ? std::string(known->target)
                                                     : set.table.columns.back().name;
  set.kind = has_classes ? TargetKind::classes : TargetKind::number;
  if (kind != TargetKind::automatic) set.kind = kind;
  const std::filesystem::path splits_file = find_file(folder, found.file + ".splits.json");
  set.test_rows = parse_splits(read_text(splits_file), splits_file.string(), set.table.rows());
  if (splits > 0 && splits < set.test_rows.size()) set.test_rows.resize(splits);
  return set;
}

std::vector<std::vector<SplitScore>> run_splits(const std::vector<BenchmarkSet>& sets,
                                                const RegressorOptions& options,
                                                std::size_t threads) {
  std::vector<std::vector<SplitScore>> scores(sets.size());
  std::vector<std::pair<std::size_t, std::size_t>> jobs;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    scores[s].resize(sets[s].test_rows.size());
    for (std::size_t split = 0; split < scores[s].size(); ++split) jobs.emplace_back(s, split);
  }
  // The largest set comes first, so that no thread is left with it at the end.
  std::stable_sort(jobs.begin(), jobs.end(), [&](const auto& a, const auto& b) {
    return sets[a.first].table.rows() > sets[b.first].table.rows();
  });
  run_jobs(jobs.size(), threads, [&](std::size_t j) {
    const auto [s, split] = jobs[j];
    const SplitScore one = run_split(sets[s], split, options);
    scores[s][split] = one;
    const std::string error =
        one.test.classes ? fmt::format("wrong {:<6.1f} %", 100 * (1 - one.test.classes->accuracy))
                         : fmt::format("RMSE {:<9.4g}", one.test.rmse);
    fmt::print(stderr, "{:<10} split {:>2}  {} LL {:<8.4f} {:6.1f} s\n", sets[s].name, split, error,
               -one.test.nll, one.seconds);
  });
  if (Interruption::asked()) throw BadInput("interrupted before all splits were finished");
  return scores;
}

}  // namespace dma::cli
