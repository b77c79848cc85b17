// Rows with weights, as a user meets them: fit, evaluate, update, forget, inspect.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "cli/expect.h"
#include "cli/fitted.h"
#include "copies.h"

namespace {

using dma::test::content;
using dma::test::expect_refusal;
using dma::test::Fit;
using dma::test::fit_once;
using dma::test::Outcome;
using dma::test::parsed;
using dma::test::run;
using dma::test::Scratch;
using dma::test::shell_word;
using nlohmann::json;

const std::string fast = " --hidden 8 --epochs 20 --ensemble 2 --tolerance 0 ";

// A wave with a column of weights, or every row as often as its weight says.
std::string weighted_csv(std::size_t rows, std::uint64_t seed, std::vector<double> weights,
                         bool as_copies) {
  const dma::Table table = dma::test::wave_table(rows, 0.3, seed);
  std::ostringstream text;
  text.precision(17);
  text << (as_copies ? "a,b,y\n" : "a,b,y,w\n");
  for (std::size_t n = 0; n < rows; ++n) {
    for (double k = 0; k < (as_copies ? weights[n] : 1); ++k) {
      text << table.columns[0].numbers[n] << ',' << table.columns[1].numbers[n] << ','
           << table.columns[2].numbers[n];
      if (!as_copies) text << ',' << weights[n];
      text << '\n';
    }
  }
  return text.str();
}

// The same rows with weights and as copies, and a model of each.
struct Both {
  Scratch scratch;
  std::vector<double> weights = dma::test::whole_weights(60, 2);
  std::string data = scratch.file("weights.csv", weighted_csv(60, 1, weights, false));
  std::string copies = scratch.file("copies.csv", weighted_csv(60, 1, weights, true));
  std::string weighted, repeated;
  json weighted_fit, repeated_fit;

  explicit Both(const std::string& more = "") {
    const auto fit = [&](const std::string& name, const std::string& options) -> const Fit& {
      return fit_once(name, content(scratch.path(name)), "--target y --json" + fast + options);
    };
    const Fit& by_weight = fit("weights.csv", "--weight w " + more);
    const Fit& by_copies = fit("copies.csv", more);
    weighted_fit = parsed(by_weight.outcome);
    repeated_fit = parsed(by_copies.outcome);
    weighted = scratch.file("weighted.safetensors", by_weight.model);
    repeated = scratch.file("repeated.safetensors", by_copies.model);
  }
  json evaluate(const std::string& model, const std::string& rows) const {
    return parsed(run("evaluate " + shell_word(model) + " " + shell_word(rows) + " --json"));
  }
};

TEST(Weights, AreCopies) {
  for (const std::string belief : {"joint", "independent"}) {
    const Both both("--belief " + belief);
    EXPECT_EQ(both.weighted_fit["rows"], 60);
    EXPECT_EQ(both.weighted_fit["weight"], "w");
    EXPECT_EQ(both.weighted_fit["features"], 2);
    EXPECT_EQ(both.repeated_fit["copies"].get<int>() + 60, both.repeated_fit["rows"].get<int>());
    EXPECT_TRUE(both.repeated_fit["weight"].is_null());
    EXPECT_NEAR(both.weighted_fit["train_nll"], both.repeated_fit["train_nll"], 1e-6);
    EXPECT_NEAR(both.weighted_fit["cavity_nll"], both.repeated_fit["cavity_nll"], 1e-6);
    const json scored = both.evaluate(both.weighted, both.data);
    const json expected = both.evaluate(both.repeated, both.copies);
    EXPECT_EQ(scored["weighted_by"], "w");
    EXPECT_EQ(scored["rows"], 60);
    EXPECT_EQ(scored["weight"], expected["rows"]);
    EXPECT_TRUE(expected["weighted_by"].is_null());
    EXPECT_NEAR(scored["nll"], expected["nll"], 1e-6);
    // Without the column, as it comes.
    EXPECT_NEAR(both.evaluate(both.weighted, both.copies)["nll"], expected["nll"], 1e-6);
  }
}

TEST(Weights, AreSaid) {
  const Both both;
  const std::string report = run("inspect " + shell_word(both.weighted)).out;
  EXPECT_NE(report.find("weight             w\n"), std::string::npos) << report;
  EXPECT_NE(run("inspect " + shell_word(both.repeated)).out.find("(60 different)"),
            std::string::npos);
  EXPECT_EQ(parsed(run("inspect " + shell_word(both.weighted) + " --json"))["weight"], "w");
  const Outcome scored = run("evaluate " + shell_word(both.weighted) + " " + shell_word(both.data));
  EXPECT_NE(scored.out.find("Means and shares are weighted by w."), std::string::npos)
      << scored.out;
  const Outcome fitted = run("fit " + shell_word(both.copies) + " --target y --model " +
                             shell_word(both.repeated) + fast);
  EXPECT_NE(fitted.out.find("repeat another and count with it"), std::string::npos) << fitted.out;
  EXPECT_NE(run("completion bash").out.find("--weight"), std::string::npos);
}

TEST(Weights, RowWithoutWeightIsLeftOutAndCounted) {
  const Scratch scratch;
  std::vector<double> weights(40, 1);
  weights[5] = 0;
  const std::string data = scratch.file("d.csv", weighted_csv(40, 1, weights, false));
  for (const std::string how : {"", " --epochs 1 --ledger none"}) {
    const Outcome outcome =
        run("fit " + shell_word(data) + " --target y --weight w --json --model " +
            shell_word(scratch.path("m")) + " --hidden 5" + how);
    EXPECT_NE(outcome.err.find("39 for training, 1 left out because the weight is 0"),
              std::string::npos)
        << outcome.err;
    const json fitted = parsed(outcome);
    EXPECT_EQ(fitted["rows"], 39);
    EXPECT_EQ(fitted["rows_without_weight"], 1);
  }
}

TEST(Weights, RefusalsNameTheCell) {
  const Scratch scratch;
  const auto fit = [&](const std::string& cell, const std::string& more) {
    const std::string path =
        scratch.file("d.csv", "x,y,w\n1,2,1\n2,3," + cell + "\n3,5,2\n4,6,1\n");
    return run("fit " + shell_word(path) + " --target y --model " + shell_word(scratch.path("m")) +
               " " + more);
  };
  for (const std::string how : {"--weight w", "--weight w --epochs 1 --ledger none"}) {
    expect_refusal(fit("-2", how), "d.csv, line 3, column 'w': '-2' is no weight");
    expect_refusal(fit("", how), "d.csv, line 3, column 'w': '' is no weight: every row needs one");
    expect_refusal(fit("lots", how), "d.csv, line 3, column 'w': 'lots' is no weight");
  }
  expect_refusal(fit("1", "--weight v"), "no column 'v'");
  expect_refusal(fit("1", "--weight y"), "both the weight and a target");
  expect_refusal(fit("1", "--weight w --drop w"), "both the weight and dropped");
}

TEST(Weights, UpdateNeedsThem) {
  const Both both;
  const std::vector<double> more_weights = dma::test::whole_weights(10, 5);
  const std::string more = both.scratch.file("m.csv", weighted_csv(10, 9, more_weights, false));
  const std::string same = both.scratch.file("c.csv", weighted_csv(10, 9, more_weights, true));
  expect_refusal(run("update " + shell_word(both.weighted) + " " + shell_word(same)),
                 "there is no column 'w'");
  const json one =
      parsed(run("update " + shell_word(both.weighted) + " " + shell_word(more) + " --json"));
  const json all =
      parsed(run("update " + shell_word(both.repeated) + " " + shell_word(same) + " --json"));
  EXPECT_EQ(one["rows_added"], 10);
  EXPECT_GT(all["rows_added"], 10);
  EXPECT_NEAR(one["moved"]["mean_shift"], all["moved"]["mean_shift"], 1e-6);
  EXPECT_NEAR(one["new_rows_nll"], all["new_rows_nll"], 1e-6);
}

TEST(Weights, ForgetIgnoresThem) {
  const Both both("--belief joint");
  const std::string head =
      content(both.data).substr(0, content(both.data).find('\n', 20));  // and a row
  const std::string row = head.substr(head.find('\n') + 1);
  const std::string only = row.substr(0, row.rfind(','));
  const std::string gone = both.scratch.file("gone.csv", "a,b,y,w\n" + only + ",77\n");
  const std::string bare = both.scratch.file("bare.csv", "a,b,y\n" + only + "\n");
  for (const std::string& rows : {gone, bare}) {
    const json report =
        parsed(run("forget " + shell_word(both.weighted) + " --rows " + shell_word(rows) +
                   " --json -o " + shell_word(both.scratch.path("less"))));
    EXPECT_EQ(report["rows_removed"], 1);
    EXPECT_EQ(report["rows_lost"], 0);
  }
  // Everything anew, by what the model knows of the weights.
  const json anew =
      parsed(run("forget " + shell_word(both.weighted) + " --rows " + shell_word(bare) +
                 " --data " + shell_word(both.copies) + " --json"));
  EXPECT_EQ(anew["rows_removed"], 1);
  EXPECT_EQ(parsed(run("inspect " + shell_word(both.weighted) + " --json"))["rows"], 59);
}

}  // namespace
