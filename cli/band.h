// cli/band.h: a prediction's band over one input, drawn with characters.
#pragma once

#include <dma/regressor/regressor.h>

#include <string>
#include <vector>

namespace dma::cli {

// Evenly spaced values of an input, one per column or line of the picture, and where the training rows are.
struct Axis {
  std::string name;
  std::vector<double> values;
  double data_low = 0, data_high = 0;
  bool dates = false;  // the values are days since 1970
};

struct Band {
  Axis across;
  std::vector<Predicted> predicted;              // at its values
  std::vector<double> data_x = {}, data_y = {};  // rows to show, if any
};

// A value of an axis.
std::string label_at(const Axis& axis, std::size_t place);
// Below a picture of this width: where the rows are, and values of the axis.
std::string across_text(const Axis& axis);

// '-' is the mean, ':' is within two standard deviations, 'o' is a row. Below is the training range.
std::string draw(const Band& band, std::size_t height);

}  // namespace dma::cli
