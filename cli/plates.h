// cli/plates.h: plates of a graph file, and the table that its factors are repeated over (docs/graph-json.md).
#pragma once

#include <dma/data/table.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace dma::cli {

// Throws BadInput: "where: what".
[[noreturn]] void fail(const std::string& where, const std::string& what);

struct Plate {
  std::string name;
  std::size_t size = 0;
  bool over_rows = false;                                  // of the table
  std::vector<std::string> labels = {};                    // of a plate of distinct values
  std::unordered_map<std::string, std::int64_t> row = {};  // by label
};

// A table whose columns are found by name, or the reason why there is none.
class PlateData {
 public:
  // Reads the columns that the model names.
  PlateData(const nlohmann::json& model, const std::string& model_path,
            const std::string& data_path);

  const Plate* find(const std::string& name) const;
  const std::map<std::string, Plate>& plates() const { return plates_; }
  const Table& table() const { return table_; }
  // Throws BadInput, which begins with `where`.
  const Column& column(const std::string& name, const std::string& where) const;
  // The cell as the label of a plate; throws BadInput if it is empty.
  std::string label(const Plate& plate, const Column& column, std::size_t row) const;
  double number(const Plate& plate, const Column& column, std::size_t row) const;
  // "plate 'match', line 7, column 'home'"
  std::string place(const Plate& plate, const Column& column, std::size_t row) const;
  // "plate 'match', line 7"
  std::string place(const Plate& plate, std::size_t row) const;
  // The row of `target` that each cell names.
  std::vector<std::int64_t> indices(const Plate& plate, const Column& column, const Plate& target,
                                    const std::string& where) const;

 private:
  void add(const std::string& name, const nlohmann::json& description, const std::string& where);
  void collect_labels(Plate& plate, const std::vector<std::string>& columns,
                      const std::string& where) const;
  [[noreturn]] void fail_cell(const Plate& plate, const Column& column, std::size_t row,
                              const std::string& what) const;

  std::string model_path_, path_;
  Table table_;
  std::map<std::string, Plate> plates_;
};

// "lead", "skill[home]": the column or label between the brackets, if there is one.
struct EdgeName {
  std::string array;
  std::string inside;
};
std::optional<EdgeName> bracketed(const std::string& edge);

}  // namespace dma::cli
