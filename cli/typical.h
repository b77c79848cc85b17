// cli/typical.h: the row at which the other columns stand while one varies.
#pragma once

#include <dma/regressor/regressor.h>

#include <string>
#include <vector>

namespace dma::cli {

// The encoded numbers of a feature where its cell is not empty.
std::vector<double> numbers_of(const Place& place, const EncodedRows& rows, std::size_t width);

// Medians and most frequent categories of these rows; of a column with effects, that of training. If there are none, the means of training, and what was most frequent
// there among the cells that are not empty.
std::vector<double> typical_inputs(const Encoder& encoder, const EncodedRows* rows);

// An encoded number of a feature as the table writes it.
std::string cell_text(const FeatureColumn& feature, double encoded);
// What a category or an empty cell is called.
std::string category_text(const FeatureColumn& feature, std::size_t category);
std::string date_text(double days);
std::string day_text(double days);

// day Sat, size 2: the cells of an encoded row, but for these columns; after some, how many more there are.
std::string row_text(const Encoder& encoder, const std::vector<double>& inputs,
                     const std::vector<std::string>& without);

}  // namespace dma::cli
