// data/error.h: something in the user's data cannot be used; the text says where and what to do.
#pragma once

#include <stdexcept>

namespace dma {

// One line: "FILE, line L, column 'NAME': what is wrong with 'VALUE'; what to do".
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace dma
