// tests/table.h: a CSV table of numbers with named columns, and a table of worst errors.
#pragma once

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace dma::test {

class Table {
 public:
  explicit Table(const std::string& name) {
    std::ifstream in(std::string(DMA_SOURCE_DIR) + "/tests/" + name);
    std::string line;
    if (!std::getline(in, line)) throw std::runtime_error("cannot read tests/" + name);
    for (const std::string& cell : split(line)) columns_.emplace(cell, columns_.size());
    while (std::getline(in, line)) {
      rows_.emplace_back();
      for (const std::string& cell : split(line))
        rows_.back().push_back(std::strtod(cell.c_str(), nullptr));
      if (rows_.back().size() != columns_.size())
        throw std::runtime_error("ragged line in " + name);
    }
  }

  std::size_t size() const { return rows_.size(); }
  double at(std::size_t row, const std::string& column) const {
    return rows_[row][columns_.at(column)];
  }

 private:
  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    return cells;
  }

  std::map<std::string, std::size_t> columns_;
  std::vector<std::vector<double>> rows_;
};

}  // namespace dma::test
