// python/core/rows.h: NumPy's columns, read in place.
//
// A column is a one-dimensional array of float32 or float64 with any stride (a column of a matrix is one), or a
// pair (codes, values) for text: codes are int32, -1 for an empty cell, values the strings they stand for.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <dma/data/table.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace dma::python {

class Rows {
 public:
  // Throws ValueError if a column has another kind or length. Only the text's values are copied; the arrays are kept
  // alive.
  Rows(std::string source, const std::vector<std::string>& names, const pybind11::list& columns,
       std::vector<double> weights = {});

  std::size_t count() const { return rows_; }
  bool has_text() const { return has_text_; }
  const std::vector<double>& weights() const { return weights_; }  // empty: each row counts once
  // Lets `read` turn columns of text into numbers (dma/data/texts.h), and returns what it assumed.
  ReadingNotes read_texts(const std::function<void(Table&)>& read);
  // These rows as a table. Does not need the interpreter lock.
  Table table(std::size_t first, std::size_t count) const;
  Table table() const { return table(0, rows_); }

 private:
  struct View {
    std::string name;
    const char* data = nullptr;
    pybind11::ssize_t stride = 0;
    enum { single, full, text } kind = full;
    std::vector<std::string> values = {};
  };
  View view_of(const std::string& name, const pybind11::handle& column);

  std::string source_;
  std::vector<pybind11::object> held_;
  std::vector<Column> read_;  // what read_texts() made of columns of text
  std::vector<View> columns_;
  std::vector<double> weights_;
  std::size_t rows_ = 0;
  bool has_text_ = false, decimal_comma_ = false;
};

}  // namespace dma::python
