#include <dma/graph/graph.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "data/row_hash.h"

namespace dma {

namespace {

// "name[index]" or "name[row,column]", taken apart.
struct ElementName {
  std::string array;
  std::uint64_t row = 0;
  std::optional<std::uint64_t> column = {};
};

std::optional<ElementName> taken_apart(const std::string& name) {
  const auto bracket = name.rfind('[');
  if (bracket == std::string::npos || name.back() != ']') return std::nullopt;
  ElementName result{name.substr(0, bracket)};
  const char* at = name.data() + bracket + 1;
  const char* const end = name.data() + name.size() - 1;
  const auto number = [&](std::uint64_t& value) {
    const auto [rest, error] = std::from_chars(at, end, value);
    const bool padded = *at == '0' && rest > at + 1;
    at = rest;
    return error == std::errc{} && !padded;
  };
  if (!number(result.row)) return std::nullopt;
  if (at != end && *at == ',') {
    ++at;
    if (!number(result.column.emplace())) return std::nullopt;
  }
  if (at != end) return std::nullopt;
  return result;
}

std::uint32_t index_of(Variable variable) { return variable.index; }
std::uint32_t index_of(std::uint32_t variable) { return variable; }

// The hash of a graph with one factor more; `word` is that of the factor's type.
template <class Index>
std::uint64_t with_factor(std::uint64_t hash, std::uint64_t word, std::span<Index> variables) {
  hash = combine(hash, combine(word, variables.size()));
  for (const Index variable : variables) hash = combine(hash, index_of(variable));
  return hash;
}

// The steps of the first factor.
std::span<const Step> first_visit(std::span<const Step> steps) {
  std::size_t count = 1;
  while (count < steps.size() && steps[count].factor == steps[0].factor) ++count;
  return steps.first(count);
}

// Steps that visit rows of one array, each the neighbour of the one before, on the same edges as the first row.
std::span<const Step> rows_that_follow(std::span<const FactorArray> arrays,
                                       std::span<const Step> steps, std::size_t visit) {
  const auto array = std::find_if(arrays.begin(), arrays.end(), [&](const FactorArray& one) {
    return steps[0].factor - one.first < one.rows;
  });
  std::size_t count = visit;
  if (array == arrays.end()) return steps.first(count);
  std::uint32_t stride = 0;
  for (; count + visit <= steps.size(); count += visit) {
    const auto next = steps.subspan(count, visit);
    if (next[0].factor - array->first >= array->rows ||
        first_visit(steps.subspan(count)).size() != visit)
      break;
    const std::uint32_t away = next[0].factor - steps[count - 1].factor;
    if (count == visit && (away == 1 || away == UINT32_MAX)) stride = away;
    const bool same_edges = std::equal(next.begin(), next.end(), steps.begin(),
                                       [](Step a, Step b) { return a.edge == b.edge; });
    if (stride == 0 || away != stride || !same_edges) break;
  }
  return steps.first(count);
}

// The one of these that has the variable.
template <class Names>
auto& entry_of(Names& names, Variable variable) {
  const auto after = std::upper_bound(
      names.begin(), names.end(), variable.index,
      [](std::uint32_t index, const NamedVariables& one) { return index < one.first; });
  return *(after - 1);
}

}  // namespace

void Graph::check_new_name(const std::string& name) const {
  if (name.empty()) throw GraphError("a variable needs a name");
  const auto parts = taken_apart(name);
  const bool known =
      std::any_of(known_names_.begin(), known_names_.end(), [&](const NamedVariables& one) {
        return one.name == name || (parts && parts->array == one.name);
      });
  if (known || variable_by_name_.contains(name) || element(name)) {
    throw GraphError("there is already a variable called '" + name + "'");
  }
}

Variable Graph::variable(std::string name) {
  check_new_name(name);
  check_size(0);
  const auto index = static_cast<std::uint32_t>(variable_count_);
  variable_by_name_.emplace(name, static_cast<std::uint32_t>(variable_names_.size()));
  variable_names_.push_back({std::move(name), index});
  ++variable_count_;
  return {index};
}

Variable Graph::variable() { return variable("v" + std::to_string(variable_count_)); }

VariableArray Graph::variables(std::string name, Shape shape) {
  check_new_name(name);
  const std::size_t columns = std::max<std::size_t>(1, shape.columns);
  constexpr std::size_t most = detail::known_begin;
  if (shape.rows == 0) throw GraphError("the array '" + name + "' needs at least one variable");
  if (columns > most || shape.rows > (most - variable_count_) / columns) {
    throw GraphError("the array '" + name + "' is too large: a graph holds at most 2^31 variables");
  }
  NamedVariables added{name, static_cast<std::uint32_t>(variable_count_),
                       static_cast<std::uint32_t>(shape.rows),
                       static_cast<std::uint32_t>(shape.columns)};
  for (const NamedVariables& other : variable_names_) {
    const auto parts = other.is_array() ? std::nullopt : taken_apart(other.name);
    if (parts && parts->array == name) {
      throw GraphError("the array '" + name + "' would have an element like the variable '" +
                       other.name + "'");
    }
  }
  const VariableArray array = added.array();
  variable_by_name_.emplace(std::move(name), static_cast<std::uint32_t>(variable_names_.size()));
  variable_names_.push_back(std::move(added));
  variable_count_ += array.size();
  return array;
}

VariableArray Graph::known(std::string name, std::span<const double> values) {
  check_new_name(name);
  if (values.empty()) throw GraphError("the array '" + name + "' needs at least one number");
  if (values.size() > detail::known_begin - 1 - known_.size())
    throw GraphError("the array '" + name +
                     "' is too large: a graph holds at most 2^31 - 1 numbers");
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (!std::isfinite(values[row])) {
      throw RowError("'" + name + "', row " + std::to_string(row) +
                         ": a known number must be finite, got " + std::to_string(values[row]),
                     row);
    }
  }
  const auto first = detail::known_begin + static_cast<std::uint32_t>(known_.size());
  known_names_.push_back({.name = std::move(name),
                          .first = first,
                          .rows = static_cast<std::uint32_t>(values.size()),
                          .family = MessageFamily::gaussian});
  detail::reserve_more(known_, values.size());
  known_.insert(known_.end(), values.begin(), values.end());
  return known_names_.back().array();
}

Variable Graph::known(std::string name, double value) {
  const Variable one = known(std::move(name), std::span(&value, 1))[0];
  known_names_.back().rows = 0;
  return one;
}

const NamedVariables& Graph::names_of(Variable variable) const {
  return entry_of(detail::is_known(variable.index) ? known_names_ : variable_names_, variable);
}

MessageFamily Graph::family(Variable variable) const {
  return names_of(variable).family.value_or(MessageFamily::gaussian);
}

std::vector<MessageFamily> Graph::families() const {
  const auto is_gaussian = [](const NamedVariables& names) {
    return names.family.value_or(MessageFamily::gaussian) == MessageFamily::gaussian;
  };
  std::vector<MessageFamily> result;
  if (std::all_of(variable_names_.begin(), variable_names_.end(), is_gaussian)) return result;
  result.reserve(variable_count_);
  for (const NamedVariables& names : variable_names_)
    result.insert(result.end(), names.array().size(),
                  names.family.value_or(MessageFamily::gaussian));
  return result;
}

void Graph::take_families(const FactorInfo& info, std::span<const EdgeRows> edges) {
  std::vector<std::optional<MessageFamily>*> decided;  // by this factor
  std::size_t k = 0;
  for (const EdgeRows& edge : edges) {
    const Variable first{edge.array().first};
    NamedVariables& names =
        entry_of(detail::is_known(first.index) ? known_names_ : variable_names_, first);
    for (const std::size_t end = k + edge.width(); k < end; ++k) {
      const EdgeInfo& takes = info.edge(k);
      if (!names.family) {
        names.family = takes.family;
        decided.push_back(&names.family);
      }
      if (*names.family == takes.family) continue;
      const std::string is = detail::is_known(first.index)
                                 ? "a known number"
                                 : "a " + std::string(name_of(*names.family)) +
                                       " variable: another factor needs it so";
      const std::string error = place(info) + ": edge " + std::to_string(k) + " (" +
                                std::string(takes.name) + ") takes a " + name_of(takes.family) +
                                " variable, but '" + names.name + "' is " + is;
      for (auto* one : decided) one->reset();
      throw GraphError(error);
    }
  }
}

std::string Graph::name(Variable variable) const {
  const NamedVariables& names = names_of(variable);
  if (!names.is_array()) return names.name;
  const std::uint32_t at = variable.index - names.first;
  if (names.columns == 0) return names.name + "[" + std::to_string(at) + "]";
  return names.name + "[" + std::to_string(at / names.columns) + "," +
         std::to_string(at % names.columns) + "]";
}

std::optional<Variable> Graph::element(const std::string& name) const {
  const auto parts = taken_apart(name);
  if (!parts) return std::nullopt;
  const auto found = variable_by_name_.find(parts->array);
  if (found == variable_by_name_.end()) return std::nullopt;
  const NamedVariables& names = variable_names_[found->second];
  const bool indexed = names.is_array() && parts->column.has_value() == (names.columns > 0);
  const std::uint64_t column = parts->column.value_or(0);
  const VariableArray array = names.array();
  if (!indexed || parts->row >= array.rows || column >= array.columns) return std::nullopt;
  return array(parts->row, column);
}

Variable Graph::find(const std::string& name) const {
  const auto found = variable_by_name_.find(name);
  if (found == variable_by_name_.end()) {
    if (const auto one = element(name)) return *one;
    throw GraphError("there is no variable called '" + name + "'");
  }
  const NamedVariables& names = variable_names_[found->second];
  if (names.is_array()) {
    throw GraphError("'" + name + "' is an array; an element is called '" +
                     this->name(Variable{names.first}) + "'");
  }
  return {names.first};
}

VariableArray Graph::find_array(const std::string& name) const {
  const auto found = variable_by_name_.find(name);
  if (found == variable_by_name_.end() || !variable_names_[found->second].is_array()) {
    throw GraphError("there is no array called '" + name + "'");
  }
  return variable_names_[found->second].array();
}

void Graph::set_name(FactorId factor, std::string name) {
  factor_by_name_[name] = factor.index;
  factor_names_[factor.index] = std::move(name);
}

void Graph::set_name(FactorArray factors, std::string name) {
  if (factors.rows > 0) set_name(FactorId{factors.first}, std::move(name));
}

std::string Graph::name(FactorId factor) const {
  const auto after = std::upper_bound(
      factor_arrays_.begin(), factor_arrays_.end(), factor.index,
      [](std::uint32_t index, const FactorArray& one) { return index < one.first; });
  const bool in_array =
      after != factor_arrays_.begin() && factor.index < (after - 1)->first + (after - 1)->rows;
  const std::uint32_t first = in_array ? (after - 1)->first : factor.index;
  const auto found = factor_names_.find(first);
  if (found == factor_names_.end())
    return std::string(info(factor).name) + "#" + std::to_string(factor.index);
  if (!in_array) return found->second;
  return found->second + "[" + std::to_string(factor.index - first) + "]";
}

std::string Graph::name(FactorArray factors) const {
  if (factors.rows == 0) return "no factors";
  if (const auto found = factor_names_.find(factors.first); found != factor_names_.end())
    return found->second;
  const std::string first = name(factors[0]);
  return factors.rows == 1 ? first : first + " ... " + name(factors[factors.rows - 1]);
}

FactorId Graph::find_factor(const std::string& name) const {
  const auto candidate = [&]() -> std::uint64_t {
    if (const auto found = factor_by_name_.find(name); found != factor_by_name_.end())
      return found->second;
    if (const auto parts = taken_apart(name)) {
      const auto found = factor_by_name_.find(parts->array);
      if (found != factor_by_name_.end() && parts->row < factor_count())
        return found->second + parts->row;
    }
    const auto mark = name.rfind('#');
    std::uint64_t index = factor_count();
    if (mark != std::string::npos)
      std::from_chars(name.data() + mark + 1, name.data() + name.size(), index);
    return index;
  };
  const std::uint64_t index = candidate();
  // Whatever was found must be called so: a name may have been replaced.
  if (index < factor_count() && this->name(FactorId{static_cast<std::uint32_t>(index)}) == name)
    return {static_cast<std::uint32_t>(index)};
  throw GraphError("there is no factor called '" + name + "'");
}

const FactorInfo& Graph::info(FactorId factor) const {
  const std::uint16_t kind = table_.kind(factor.index);
  return kinds_[kind]->info(factors_[kind], table_.local(factor.index));
}

std::string Graph::place(const FactorInfo& info) const {
  return "factor " + std::to_string(factor_count()) + " (" + std::string(info.name) + ")";
}

std::string Graph::place(const FactorInfo& info, std::size_t row) const {
  return place(info) + ", row " + std::to_string(row);
}

std::string Graph::place(Step step) const {
  return "factor " + name(FactorId{step.factor}) + " to variable '" +
         name(edge({step.factor}, step.edge)) + "': ";
}

void Graph::check_edges(const FactorInfo& info, std::size_t arity,
                        std::span<const Variable> edges) const {
  if (edges.size() != arity) {
    throw GraphError(place(info) + " needs " + std::to_string(arity) + " variables, got " +
                     std::to_string(edges.size()));
  }
  for (std::size_t k = 0; k < edges.size(); ++k) {
    if (!has({edges[k].index, 1, 1})) {
      throw GraphError(place(info) + ": edge " + std::to_string(k) +
                       " is not a variable of this graph");
    }
    for (std::size_t other = 0; other < k; ++other) {
      if (edges[other].index == edges[k].index && !detail::is_known(edges[k].index)) {
        throw GraphError(place(info) + ": variable '" + name(edges[k]) +
                         "' is on two of its edges; write the repetition as a function of one "
                         "variable (dma::function)");
      }
    }
  }
  check_size(edges.size());
}

bool Graph::has(const VariableArray& array) const {
  if (!detail::is_known(array.first)) return array.first + array.size() <= variable_count();
  return array.first - detail::known_begin + array.size() <= known_.size();
}

void Graph::check_size(std::size_t more_edges) const {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max() - 1;
  if (edge_count() + more_edges > most || variable_count_ > detail::known_begin) {
    throw GraphError("a graph holds at most 2^32 - 2 edges and 2^31 variables");
  }
}

std::size_t Graph::row_count(std::span<const EdgeRows> edges) const {
  std::optional<std::size_t> rows;
  for (const EdgeRows& edge : edges) {
    if (!edge.rows()) continue;
    if (rows && *rows != *edge.rows()) {
      throw GraphError("factor " + std::to_string(factor_count()) + ": its edges have " +
                       std::to_string(*rows) + " and " + std::to_string(*edge.rows()) + " rows");
    }
    rows = edge.rows();
  }
  if (rows) return *rows;
  throw GraphError("factor " + std::to_string(factor_count()) +
                   ": none of its edges says how many rows there are");
}

void Graph::check_width(const FactorInfo& info, std::size_t arity,
                        std::span<const EdgeRows> edges) const {
  std::size_t width = 0;
  for (const EdgeRows& edge : edges) width += edge.width();
  if (width != arity) {
    throw GraphError(place(info) + " needs " + std::to_string(arity) + " variables, got " +
                     std::to_string(width));
  }
}

void Graph::check_row(const FactorInfo& info, std::span<const EdgeRows> edges,
                      std::size_t row) const {
  std::size_t width = 0;
  for (const EdgeRows& edge : edges) {
    if (!edge.exists(row)) {
      throw RowError(place(info, row) + ", edge " + std::to_string(width) + " (" +
                         std::string(info.edge(width).name) + "): the index " +
                         std::to_string(edge.index(row)) + " is not one of 0 to " +
                         std::to_string(edge.array().rows - 1) + ", the rows of '" +
                         names_of(Variable{edge.array().first}).name + "'",
                     row);
    }
    width += edge.width();
  }
  // An edge is a stretch of variables: no two may overlap.
  for (const EdgeRows& edge : edges) {
    const std::uint32_t begin = edge.variable(row);
    if (detail::is_known(begin)) continue;
    for (const EdgeRows* other = edges.data(); other != &edge; ++other) {
      const std::uint32_t other_begin = other->variable(row);
      if (begin >= other_begin + other->width() || other_begin >= begin + edge.width()) continue;
      throw RowError(place(info, row) + ": variable '" +
                         name(Variable{std::max(begin, other_begin)}) +
                         "' is on two of its edges; write the repetition as a function of one "
                         "variable (dma::function)",
                     row);
    }
  }
}

namespace {

// One edge of all rows, up to the first that names a row which is not there.
struct Column {
  detail::EdgeColumn column;
  std::size_t rows = 0;
  std::uint32_t least = UINT32_MAX, most = 0;  // of its variables
};

Column column_of(const EdgeRows& edge, std::size_t rows) {
  const VariableArray& array = edge.array();
  Column result{.column = {.first = array.first, .width = edge.width(), .stride = edge.stride()}};
  const auto include = [&](std::uint32_t variable) {
    result.least = std::min(result.least, variable);
    result.most = std::max(result.most, variable + edge.width() - 1);
    ++result.rows;
  };
  if (!edge.is_named()) {
    if (rows > 0) include(array.first);
    if (rows > 0) include(edge.variable(rows - 1));
    result.rows = rows;
    return result;
  }
  result.column.named.reserve(rows);
  for (std::size_t row = 0; row < rows && edge.exists(row); ++row) {
    result.column.named.push_back(edge.variable(row));
    include(result.column.named.back());
  }
  return result;
}

// The first row below `rows` in which the columns share a variable; else `rows`.
std::size_t first_overlap(const Column& one, const Column& other, std::size_t rows) {
  if (one.least > other.most || other.least > one.most) return rows;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::uint32_t a = one.column.variable(row), b = other.column.variable(row);
    if (a < b + other.column.width && b < a + one.column.width) return row;
  }
  return rows;
}

}  // namespace

std::vector<detail::EdgeColumn> Graph::columns_of(const FactorInfo& info,
                                                  std::span<const EdgeRows> edges,
                                                  std::size_t rows) const {
  std::size_t width = 0;
  for (const EdgeRows& edge : edges) {
    if (!has(edge.array())) {
      throw RowError(
          place(info, 0) + ": edge " + std::to_string(width) + " is not a variable of this graph",
          0);
    }
    width += edge.width();
  }
  check_size(rows * width);
  std::vector<Column> columns;
  std::size_t right = rows;  // so many rows have no error
  for (const EdgeRows& edge : edges) {
    columns.push_back(column_of(edge, rows));
    right = std::min(right, columns.back().rows);
  }
  for (const Column& one : columns) {
    if (detail::is_known(one.column.first)) continue;
    for (const Column* other = columns.data(); other != &one; ++other)
      right = first_overlap(one, *other, right);
  }
  if (right < rows) check_row(info, edges, right);
  std::vector<detail::EdgeColumn> result;
  for (Column& one : columns) result.push_back(std::move(one.column));
  return result;
}

FactorArray Graph::append_rows(std::uint16_t kind, std::size_t local, std::size_t stride,
                               std::vector<detail::EdgeColumn> columns, std::size_t rows) {
  const FactorArray added{static_cast<std::uint32_t>(factor_count()),
                          static_cast<std::uint32_t>(rows)};
  if (rows == 0) return added;
  forgotten_.resize(factor_count() + rows);
  table_.add_rows(kind, static_cast<std::uint32_t>(local), static_cast<std::uint32_t>(stride),
                  added.rows, std::move(columns));
  factor_arrays_.push_back(added);
  const std::uint64_t word = word_of(info(FactorId{added.first}).name);
  detail::FactorTable::Reader read(table_);
  for (std::uint32_t row = 0; row < added.rows; ++row)
    structure_ = with_factor(structure_, word, read(added.first + row).variables);
  return added;
}

void Graph::forget(FactorId factor) { forget(FactorArray{factor.index, 1}); }

void Graph::forget(FactorArray factors) {
  const std::size_t end = std::size_t{factors.first} + factors.rows;
  if (end > factor_count()) {
    throw GraphError("there is no factor " + std::to_string(end - 1) + " to forget");
  }
  for (std::uint32_t factor = factors.first; factor < end; ++factor) {
    if (forgotten_[factor])
      throw GraphError("factor " + name(FactorId{factor}) + " is forgotten already");
  }
  std::fill(forgotten_.begin() + factors.first,
            forgotten_.begin() + static_cast<std::ptrdiff_t>(end), true);
  forgotten_count_ += factors.rows;
}

std::uint64_t Graph::structure(std::size_t factors) const {
  if (factors == factor_count()) return structure_;
  std::vector<std::uint64_t> words(kinds_.size());
  std::uint64_t hash = 0;
  detail::FactorTable::Reader read(table_);
  for (std::uint32_t factor = 0; factor < factors; ++factor) {
    const detail::FactorView& view = read(factor);
    std::uint64_t& word = words[view.kind];
    if (word == 0) word = word_of(info(FactorId{factor}).name);
    hash = with_factor(hash, word, view.variables);
  }
  return hash;
}

void Graph::check_own(const Beliefs& beliefs) const {
  if (beliefs.variable_count() > variable_count() || beliefs.factor_count() > factor_count() ||
      beliefs.structure_ != structure(beliefs.factor_count())) {
    throw GraphError("these beliefs are of another graph");
  }
}

std::uint16_t Graph::kind_index(const detail::FactorKind& kind, std::any (*empty)()) {
  const auto found = std::find(kinds_.begin(), kinds_.end(), &kind);
  const auto index = static_cast<std::uint16_t>(found - kinds_.begin());
  if (found == kinds_.end()) {
    kinds_.push_back(&kind);
    factors_.push_back(empty());
  }
  return index;
}

FactorId Graph::append(std::uint16_t kind, std::uint32_t local, std::span<const Variable> edges) {
  const auto index = static_cast<std::uint32_t>(factor_count());
  forgotten_.push_back(false);
  table_.add_one(kind, local, edges);
  structure_ = with_factor(structure_, word_of(info(FactorId{index}).name), edges);
  return {index};
}

std::string Graph::text(const Schedule& schedule) const {
  std::string out;
  const auto list = [&](const std::string& direction, const Steps& all) {
    const std::vector<Step> expanded(all.begin(), all.end());
    std::span<const Step> steps = expanded;
    while (!steps.empty()) {
      const std::span<const Step> visit = first_visit(steps);
      const std::span<const Step> run = rows_that_follow(factor_arrays_, steps, visit.size());
      if (run.size() == visit.size()) {
        for (const Step step : visit) {
          out += direction + " " + name(FactorId{step.factor}) + " -> " +
                 name(edge({step.factor}, step.edge)) + "\n";
        }
      } else {
        out += direction + " " + name(FactorId{run.front().factor}) + " ... " +
               name(FactorId{run.back().factor}) + (visit.size() == 1 ? " -> edge " : " -> edges ");
        const FactorInfo& about = info(FactorId{run.front().factor});
        for (const Step& step : visit) {
          out += (&step == visit.data() ? "" : ", ") + std::to_string(step.edge) + " (" +
                 std::string(about.edge(step.edge).name) + ")";
        }
        out += "\n";
      }
      steps = steps.subspan(run.size());
    }
  };
  list("forward ", schedule.forward);
  list("backward", schedule.backward);
  return out;
}

}  // namespace dma
