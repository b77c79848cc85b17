// fitted.h: a small table as a file, and a model fitted to it by the command.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "command.h"
#include "regressor/wave_table.h"

namespace dma::test {

inline const std::string quick =
    " --hidden 8 --epochs 20 --ensemble 2 --batch-size 5 --tolerance 0 ";

inline std::string wave_csv(std::size_t rows, std::uint64_t seed) {
  const dma::Table table = wave_table(rows, 0.3, seed);
  std::ostringstream text;
  text.precision(17);
  text << "a,b,y\n";
  for (std::size_t n = 0; n < rows; ++n) {
    text << table.columns[0].numbers[n] << ',' << table.columns[1].numbers[n] << ','
         << table.columns[2].numbers[n] << '\n';
  }
  return text.str();
}

// A folder with wave.csv and a model fitted to it.
struct Fitted {
  Scratch scratch;
  std::string data = scratch.file("wave.csv", wave_csv(100, 1));
  std::string model = scratch.path("m.safetensors");

  explicit Fitted(const std::string& more = "") {
    const Outcome outcome =
        run("fit " + shell_word(data) + " --target y --model " + shell_word(model) + quick + more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
};

}  // namespace dma::test
