// cli/typical.h: the row at which the other columns stand while one varies.
#pragma once

#include <dma/regressor/regressor.h>

#include <string>
#include <vector>

namespace dma::cli {

// A feature and where its encoded inputs begin in a row.
struct Place {
  const FeatureColumn& feature;
  std::size_t first;

  // Whether the first of them is a number, or says true or false.
  bool has_number() const {
    return feature.kind != ColumnKind::categorical && feature.deviation != 0;
  }
  bool has_parts() const { return !feature.parts.empty(); }
  // A standardised number in the unit of the column.
  double own(double encoded) const { return feature.mean + feature.deviation * encoded; }
};

std::vector<Place> places_of(const Encoder& encoder);

// The encoded numbers of a feature where its cell is not empty.
std::vector<double> numbers_of(const Place& place, const EncodedRows& rows, std::size_t width);

// Medians and most frequent categories of these rows. If there are none, the means of training, and what was most frequent
// there among the cells that are not empty.
std::vector<double> typical_inputs(const Encoder& encoder, const EncodedRows* rows);

// An encoded number of a feature as the table writes it.
std::string cell_text(const FeatureColumn& feature, double encoded);
// What a category or an empty cell is called.
std::string category_text(const FeatureColumn& feature, std::size_t category);
std::string date_text(double days);

// day Sat, size 2: the cells of an encoded row, but for these columns; after some, how many more there are.
std::string row_text(const Encoder& encoder, const std::vector<double>& inputs,
                     const std::vector<std::string>& without);

}  // namespace dma::cli
