// fitted.h: small tables as files, and models fitted to them by the command, once for all tests of a program.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <sstream>
#include <string>

#include "command.h"
#include "regressor/wave_table.h"

namespace dma::test {

inline const std::string quick =
    " --hidden 8 --epochs 20 --ensemble 2 --batch-size 5 --tolerance 0 ";

inline std::string wave_csv(std::size_t rows, std::uint64_t seed, int digits = 17) {
  const dma::Table table = wave_table(rows, 0.3, seed);
  std::ostringstream text;
  text.precision(digits);
  text << "a,b,y\n";
  for (std::size_t n = 0; n < rows; ++n) {
    text << table.columns[0].numbers[n] << ',' << table.columns[1].numbers[n] << ','
         << table.columns[2].numbers[n] << '\n';
  }
  return text.str();
}

// What a fit says, and the bytes of its model.
struct Fit {
  Outcome outcome;
  std::string model;
};

// Fits this table, in a file of this name. The same table and options give the same bytes, so that later tests get what the
// first one got.
inline const Fit& fit_once(const std::string& name, const std::string& csv,
                           const std::string& options) {
  static std::map<std::array<std::string, 3>, Fit> known;
  const auto [entry, is_new] = known.try_emplace({name, csv, options});
  if (is_new) {
    const Scratch scratch;
    const std::string model = scratch.path("m.safetensors");
    const std::string data = scratch.file(name, csv);
    entry->second.outcome =
        run("fit " + shell_word(data) + " --model " + shell_word(model) + " " + options);
    EXPECT_EQ(entry->second.outcome.status, 0) << entry->second.outcome.err;
    entry->second.model = content(model);
  }
  return entry->second;
}

// A folder with wave.csv and a model fitted to it.
struct Fitted {
  Scratch scratch;
  std::string data = scratch.file("wave.csv", wave_csv(100, 1));
  std::string model;

  explicit Fitted(const std::string& more = "")
      : model(scratch.file(
            "m.safetensors",
            fit_once("wave.csv", wave_csv(100, 1), "--target y" + quick + more).model)) {}
};

}  // namespace dma::test
