// cli/bad_input.h: something the user gave cannot be used; the text says what and where.
#pragma once

#include <stdexcept>

namespace dma::cli {

struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace dma::cli
