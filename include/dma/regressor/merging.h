// regressor/merging.h: models that learnt different rows in different places become one that has learnt them all.
//
//   auto start = dma::Start::from(dma::Regressor::fit(sample, {.target = "y"}));   once; start.save("start.dma")
//   auto part = start.fit(rows);                                                   in every place, with its rows
//   auto all = dma::Regressor::merge({part, other});                               which no row had to leave
//
// A start holds what all places have to agree on: encoder, networks and their weights in the mixture, prior precisions, noise
// and calibration, and for every network a centre, where all linearise it. It holds no row's message: the rows of the sample
// are not learnt, and a place that has them fits them as any others.
//
// Given a start, what rows say is a sum over rows (src/belief/shared_centre.h). So a merged model is the one that
// Start::fit() makes of all rows at once, to rounding, whichever rows were together and in whatever order parts are merged;
// merged models can be merged further. What the start decides is not learnt again: that is what a merged model has less than
// one that was fitted to all rows. Start::from(merged) begins another round, whose centres are the merged means.
//
// A part keeps no row, but sums over rows, and hashes of rows by which they are found again, unless it is saved slim. Rows
// are forgotten by computing again what they said (Regressor::forget_rows), and learnt likewise (Regressor::update): both
// need these rows alone, and no ChangeOptions::data.
//
// Numbers and amounts with joint beliefs only. Throws DataError if a table cannot be used, ModelError if a file cannot, and
// NetworkError if models do not fit together; the text says why.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <dma/regressor/regressor.h>

namespace dma {

class Start {
 public:
  // Of a model that was fitted to a sample, or of a merged one: the next round.
  static Start from(const Regressor& model);

  // Learns these rows. No number of threads changes the result; 0: all cores.
  Regressor fit(const Table& rows, std::size_t threads = 0) const;

  const Model& model() const { return model_; }
  const Encoder& encoder() const { return model_.encoder; }
  const SharedStart& shared() const { return *model_.start; }

  // The bytes of the file.
  std::vector<std::byte> to_bytes() const { return model_bytes(model_); }
  static Start from_bytes(std::span<const std::byte> bytes);
  // Writes atomically.
  void save(const std::filesystem::path& path) const { write_model(model_, path); }
  static Start load(const std::filesystem::path& path);

 private:
  explicit Start(Model model);

  Model model_;
};

// Rows of tables that are alike in several parts. That may be chance, or rows that were learnt twice; slim parts do not know.
std::size_t rows_in_several(std::span<const Regressor> parts);

// As 16 hexadecimal digits.
std::string digest_text(std::uint64_t digest);

}  // namespace dma
