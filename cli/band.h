// cli/band.h: a prediction's band over one input, drawn with characters.
#pragma once

#include <dma/regressor/regressor.h>

#include <string>
#include <vector>

namespace dma::cli {

struct Band {
  std::vector<double> x;                         // evenly spaced, one per column of the picture
  std::vector<Predicted> predicted;              // at x
  double data_low = 0, data_high = 0;            // range of the training data
  std::vector<double> data_x = {}, data_y = {};  // rows to show, if any
};

// The ends of an axis below a picture of this width, and where the rows are.
std::string across_text(const std::vector<double>& values, double data_low, double data_high);

// '-' is the mean, ':' is within two standard deviations, 'o' is a row. Below is the training range.
std::string draw(const Band& band, std::size_t height);

}  // namespace dma::cli
