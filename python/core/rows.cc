#include "rows.h"

#include <cstdint>
#include <cstring>

#include <pybind11/stl.h>

namespace py = pybind11;

namespace dma::python {
namespace {

template <class T>
T element(const char* data, py::ssize_t stride, std::size_t row) {
  T value;
  std::memcpy(&value, data + static_cast<py::ssize_t>(row) * stride, sizeof(T));
  return value;
}

template <class From, class To>
void copy(const char* data, py::ssize_t stride, std::size_t first, std::vector<To>& to) {
  for (std::size_t n = 0; n < to.size(); ++n) {
    to[n] = static_cast<To>(element<From>(data, stride, first + n));
  }
}

}  // namespace

Rows::View Rows::view_of(const std::string& name, const py::handle& column) {
  View view{.name = name};
  py::array array;
  if (py::isinstance<py::tuple>(column)) {
    const auto pair = column.cast<std::pair<py::array, std::vector<std::string>>>();
    array = pair.first;
    view.values = pair.second;
    view.kind = View::text;
    has_text_ = true;
    if (!py::isinstance<py::array_t<std::int32_t>>(array)) {
      throw py::value_error("column '" + name + "': codes must be int32");
    }
    for (py::ssize_t n = 0; n < array.size(); ++n) {
      const auto code = *static_cast<const std::int32_t*>(array.data(n));
      if (code < -1 || code >= static_cast<std::int64_t>(view.values.size())) {
        throw py::value_error("column '" + name + "': a code has no value");
      }
    }
  } else {
    array = py::reinterpret_borrow<py::array>(column);
    if (py::isinstance<py::array_t<float>>(array)) {
      view.kind = View::single;
    } else if (!py::isinstance<py::array_t<double>>(array)) {
      throw py::value_error("column '" + name + "' must be float32 or float64");
    }
  }
  if (array.ndim() != 1) throw py::value_error("column '" + name + "' must have one dimension");
  view.data = static_cast<const char*>(array.data());
  view.stride = array.strides(0);
  held_.push_back(array);
  return view;
}

Rows::Rows(std::string source, const std::vector<std::string>& names, const py::list& columns,
           std::vector<double> weights)
    : source_(std::move(source)), weights_(std::move(weights)) {
  if (names.size() != columns.size()) throw py::value_error("one name per column is needed");
  for (std::size_t k = 0; k < names.size(); ++k) {
    columns_.push_back(view_of(names[k], columns[k]));
    const auto rows = static_cast<std::size_t>(py::len(held_.back()));
    if (k == 0) rows_ = rows;
    if (rows != rows_) throw py::value_error("column '" + names[k] + "' has another length");
  }
  if (!weights_.empty() && weights_.size() != rows_) {
    throw py::value_error("there are " + std::to_string(weights_.size()) + " weights for " +
                          std::to_string(rows_) + " rows");
  }
}

ReadingNotes Rows::read_texts(const std::function<void(Table&)>& read) {
  ReadingNotes notes;
  if (!has_text_) return notes;
  Table texts = table();
  std::erase_if(texts.columns, [](const Column& column) { return !column.is_text; });
  texts.weights.clear();
  read(texts);
  notes.add(texts);
  decimal_comma_ = texts.decimal_comma;
  has_text_ = false;
  auto column = texts.columns.begin();
  for (View& view : columns_) {
    if (view.kind != View::text) continue;
    const Column& own = read_.emplace_back(std::move(*column++));
    has_text_ = has_text_ || own.is_text;
    view.kind = own.is_text ? View::text : View::full;
    view.stride = own.is_text ? sizeof(std::uint32_t) : sizeof(double);
    view.data = own.is_text ? reinterpret_cast<const char*>(own.codes.data())
                            : reinterpret_cast<const char*>(own.numbers.data());
  }
  return notes;
}

Table Rows::table(std::size_t first, std::size_t count) const {
  Table table;
  table.source = source_;
  table.first_line = first;
  table.row_word = "row";
  table.decimal_comma = decimal_comma_;
  for (const View& view : columns_) {
    Column column{.name = view.name, .values = view.values, .is_text = view.kind == View::text};
    if (column.is_text) {
      // -1 becomes Column::empty_cell.
      column.codes.resize(count);
      copy<std::int32_t>(view.data, view.stride, first, column.codes);
    } else {
      column.numbers.resize(count);
      view.kind == View::single ? copy<float>(view.data, view.stride, first, column.numbers)
                                : copy<double>(view.data, view.stride, first, column.numbers);
    }
    table.columns.push_back(std::move(column));
  }
  if (!weights_.empty()) {
    const auto begin = weights_.begin() + static_cast<std::ptrdiff_t>(first);
    table.weights.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return table;
}

}  // namespace dma::python
