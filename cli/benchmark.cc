// dma benchmark --data DIR: the nine UCI sets on their standard splits, beside what others have published.
#include <CLI/CLI.hpp>
#include <dma/data/csv.h>
#include <dma/regressor/regressor.h>
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "bad_input.h"
#include "commands.h"
#include "progress.h"
#include "report.h"
#include "rivals.h"

namespace dma::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::filesystem::path data;
  std::vector<std::string> sets;
  std::size_t splits = 0;
  std::size_t threads = 0;
  std::size_t epochs = 0;
  std::size_t ensemble = 0;
  bool json = false;
};

// Plain or compressed, whichever is there.
std::filesystem::path find_file(const std::filesystem::path& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    if (std::filesystem::exists(folder / (name + ending))) return folder / (name + ending);
  }
  throw BadInput((folder / name).string() + ": not found, nor compressed as .gz");
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

struct Set {
  const UciSet* published;
  Table table;
  std::vector<std::vector<std::size_t>> test_rows;  // by split
};

std::vector<std::vector<std::size_t>> read_splits(const std::filesystem::path& path,
                                                  std::size_t rows) {
  std::vector<std::vector<std::size_t>> splits;
  try {
    splits = Json::parse(read_text(path)).at("test").get<decltype(splits)>();
  } catch (const Json::exception& error) {
    throw BadInput(path.string() + ": not a list of splits: " + error.what());
  }
  for (const auto& split : splits) {
    for (const std::size_t row : split) {
      if (row >= rows) {
        throw BadInput(path.string() + ": row " + std::to_string(row) + " of a table of " +
                       std::to_string(rows));
      }
    }
  }
  return splits;
}

Set read_set(const Arguments& arguments, const UciSet& published) {
  Set set{
      &published, read_csv(find_file(arguments.data, std::string(published.file) + ".csv")), {}};
  set.test_rows = read_splits(
      find_file(arguments.data, std::string(published.file) + ".splits.json"), set.table.rows());
  if (arguments.splits > 0 && arguments.splits < set.test_rows.size()) {
    set.test_rows.resize(arguments.splits);
  }
  return set;
}

struct SplitScore {
  Metrics test;
  double cavity_nll = 0, seconds = 0;
};

// Nothing of the test rows reaches the fit: they are taken out of the table first.
SplitScore run_split(const Set& set, std::size_t split, const RegressorOptions& options) {
  std::vector<bool> held_out(set.table.rows());
  for (const std::size_t row : set.test_rows[split]) held_out[row] = true;
  std::vector<std::size_t> train_rows;
  for (std::size_t row = 0; row < held_out.size(); ++row) {
    if (!held_out[row]) train_rows.push_back(row);
  }
  RegressorOptions own = options;
  own.target = set.table.columns.back().name;
  own.seed = split + 1;
  own.threads = 1;
  const Regressor model = Regressor::fit(select_rows(set.table, train_rows), own,
                                         [](const auto&) { return !Interruption::asked(); });
  const Table test = select_rows(set.table, set.test_rows[split]);
  return {model.evaluate(test, 1).front(), model.report().cavity_nll(), model.report().seconds};
}

struct Summary {
  double mean = 0, error = 0;  // standard error over splits
};

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

struct SetScore {
  const UciSet* published;
  std::size_t splits;
  Summary rmse, ll, seconds, cavity_ll;
  std::array<double, 4> coverage{};
};

SetScore summarise_set(const Set& set, const std::vector<SplitScore>& scores) {
  SetScore result{set.published, scores.size(), {}, {}, {}, {}, {}};
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

// Splits of all sets, largest set first, shared out among threads.
std::vector<std::vector<SplitScore>> run_all(const std::vector<Set>& sets,
                                             const Arguments& arguments) {
  RegressorOptions options;
  if (arguments.epochs > 0) options.epochs = arguments.epochs;
  if (arguments.ensemble > 0) options.ensemble = arguments.ensemble;
  std::vector<std::vector<SplitScore>> scores(sets.size());
  std::vector<std::pair<std::size_t, std::size_t>> jobs;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    scores[s].resize(sets[s].test_rows.size());
    for (std::size_t split = 0; split < scores[s].size(); ++split) jobs.emplace_back(s, split);
  }
  std::stable_sort(jobs.begin(), jobs.end(), [&](const auto& a, const auto& b) {
    return sets[a.first].table.rows() > sets[b.first].table.rows();
  });
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t j = next++; j < jobs.size() && !Interruption::asked(); j = next++) {
      const auto [s, split] = jobs[j];
      try {
        scores[s][split] = run_split(sets[s], split, options);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        next = jobs.size();
        return;
      }
      const std::lock_guard lock(mutex);
      const SplitScore& one = scores[s][split];
      fmt::print(stderr, "{:<10} split {:>2}  RMSE {:<9.4g} LL {:<8.4f} {:6.1f} s\n",
                 sets[s].published->name, split, one.test.rmse, -one.test.nll, one.seconds);
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < (arguments.threads > 0 ? arguments.threads : cores); ++t) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  if (Interruption::asked()) throw BadInput("interrupted before all splits were done");
  return scores;
}

// Place of each method among all on one set, 1 is best; equal figures share the mean of their places.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> result;
  for (const double value : values) {
    double better = 0;
    double equal = 0;
    for (const double other : values) {
      better += other > value ? 1 : 0;
      equal += other == value ? 1 : 0;
    }
    result.push_back(better + (equal + 1) / 2);
  }
  return result;
}

// Mean rank in log-likelihood: dma first, then the rivals in their order.
std::vector<double> average_ranks(const std::vector<SetScore>& scores) {
  std::vector<double> sums(rivals.size() + 1, 0);
  for (const SetScore& score : scores) {
    // Published figures have two decimals, so ours is compared with as many.
    std::vector<double> values{std::round(score.ll.mean * 100) / 100};
    values.insert(values.end(), score.published->ll.begin(), score.published->ll.end());
    const auto places = ranks(values);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      sums[k] += places[k] / static_cast<double>(scores.size());
    }
  }
  return sums;
}

void print_table(const std::vector<SetScore>& scores) {
  const auto row = [&](std::string_view name, const auto& cell) {
    fmt::print("{:<22}", name);
    for (const SetScore& score : scores) fmt::print(" {:>9}", cell(score));
    fmt::print("\n");
  };
  row("", [](const auto& s) { return std::string(s.published->name); });
  fmt::print("test log-likelihood, mean over splits, in the target's unit\n");
  row("dma", [](const auto& s) { return fmt::format("{:.3f}", s.ll.mean); });
  row("  standard error", [](const auto& s) { return fmt::format("{:.3f}", s.ll.error); });
  row("  cavity score", [](const auto& s) { return fmt::format("{:.3f}", s.cavity_ll.mean); });
  for (std::size_t k = 0; k < rivals.size(); ++k) {
    row(rivals[k], [k](const auto& s) { return fmt::format("{:.2f}", s.published->ll[k]); });
  }
  fmt::print("RMSE\n");
  row("dma", [](const auto& s) { return fmt::format("{:.4g}", s.rmse.mean); });
  row("  standard error", [](const auto& s) { return fmt::format("{:.2g}", s.rmse.error); });
  for (std::size_t k = 0; k < rivals.size(); ++k) {
    row(rivals[k], [k](const auto& s) { return fmt::format("{:.4g}", s.published->rmse[k]); });
  }
  fmt::print("share of test targets inside the interval, %\n");
  for (std::size_t k = 0; k < Metrics::levels.size(); ++k) {
    row(fmt::format("  {:g} %", 100 * Metrics::levels[k]),
        [k](const auto& s) { return fmt::format("{:.1f}", 100 * s.coverage[k]); });
  }
  row("seconds per fit", [](const auto& s) { return fmt::format("{:.2f}", s.seconds.mean); });
  fmt::print("\naverage rank in log-likelihood over these sets (1 is best):");
  const auto places = average_ranks(scores);
  for (std::size_t k = 0; k < places.size(); ++k) {
    fmt::print(" {} {:.2f}{}", k == 0 ? "dma" : rivals[k - 1], places[k],
               k + 1 < places.size() ? "," : "\n");
  }
}

Json to_json(const std::vector<SetScore>& scores) {
  Json sets = Json::array();
  for (const SetScore& score : scores) {
    sets.push_back({{"name", score.published->name},
                    {"splits", score.splits},
                    {"rmse", score.rmse.mean},
                    {"rmse_se", score.rmse.error},
                    {"ll", score.ll.mean},
                    {"ll_se", score.ll.error},
                    {"cavity_ll", score.cavity_ll.mean},
                    {"coverage", coverage_json(score.coverage)},
                    {"seconds", score.seconds.mean}});
    for (std::size_t k = 0; k < rivals.size(); ++k) {
      sets.back()["published"][rivals[k]] = {{"ll", score.published->ll[k]},
                                             {"rmse", score.published->rmse[k]}};
    }
  }
  Json places;
  const auto average = average_ranks(scores);
  for (std::size_t k = 0; k < average.size(); ++k)
    places[k == 0 ? "dma" : rivals[k - 1]] = average[k];
  return {{"sets", std::move(sets)}, {"average_rank", std::move(places)}};
}

void run(const Arguments& arguments) {
  std::vector<Set> sets;
  for (const UciSet& published : uci_sets) {
    const bool wanted = arguments.sets.empty() ||
                        std::find(arguments.sets.begin(), arguments.sets.end(), published.name) !=
                            arguments.sets.end();
    if (wanted) sets.push_back(read_set(arguments, published));
  }
  const Interruption interruption;
  const auto all = run_all(sets, arguments);
  std::vector<SetScore> scores;
  for (std::size_t s = 0; s < sets.size(); ++s) scores.push_back(summarise_set(sets[s], all[s]));
  if (arguments.json) {
    fmt::print("{}\n", to_json(scores).dump());
  } else {
    print_table(scores);
  }
}

}  // namespace

void add_benchmark(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("benchmark", "the UCI sets, beside published figures");
  command
      ->add_option("--data", arguments->data, "folder with NAME.csv[.gz] and NAME.splits.json[.gz]")
      ->required()
      ->option_text("DIR");
  std::vector<std::string> names;
  for (const UciSet& set : uci_sets) names.emplace_back(set.name);
  command->add_option("--sets", arguments->sets, "only these (default: all nine)")
      ->check(CLI::IsMember(names))
      ->option_text("NAME...");
  command->add_option("--splits", arguments->splits, "only the first N of each set")
      ->option_text("N");
  command->add_option("--threads", arguments->threads, "splits at a time; 0: all cores (default)")
      ->option_text("N");
  command->add_option("--epochs", arguments->epochs, "another limit than fit's own")
      ->option_text("N");
  command->add_option("--ensemble", arguments->ensemble, "another number of members than fit's own")
      ->option_text("M");
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->footer(
      "Every set is fitted with the default options of dma fit; split k has the seed k.\n");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace dma::cli
