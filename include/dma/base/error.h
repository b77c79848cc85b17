// base/error.h: errors that a user can fix; each text is one line that says what is wrong, where, and what to do.
#pragma once

#include <stdexcept>

namespace dma {

// The user's data cannot be used: "FILE, line L, column 'NAME': what is wrong with 'VALUE'; what to do".
struct DataError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An option or argument cannot be used; the text names it and its value.
struct NetworkError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// A model file cannot be read or written; the text names the file and the reason.
struct ModelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace dma
