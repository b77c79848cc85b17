#include <dma/graph/factor_table.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace dma::detail {

void EdgeLayout::add_one(std::uint32_t arity) {
  if (parts_.empty() || !parts_.back().is_list()) {
    parts_.push_back({.factor = static_cast<std::uint32_t>(factors_),
                      .message = static_cast<std::uint32_t>(messages_),
                      .table = begins_.size()});
    begins_.push_back(static_cast<std::uint32_t>(messages_));
  }
  ++parts_.back().rows;
  ++factors_;
  messages_ += arity;
  begins_.push_back(static_cast<std::uint32_t>(messages_));
}

void EdgeLayout::add_rows(std::uint32_t rows, const std::vector<bool>& known_edges) {
  Part part{.factor = static_cast<std::uint32_t>(factors_),
            .rows = rows,
            .message = static_cast<std::uint32_t>(messages_),
            .arity = static_cast<std::uint32_t>(known_edges.size()),
            .table = places_.size()};
  for (const bool known : known_edges) places_.push_back(known ? no_message : part.kept++);
  parts_.push_back(part);
  factors_ += rows;
  messages_ += std::size_t{rows} * part.kept;
}

std::size_t EdgeLayout::part_of(std::uint32_t factor) const {
  const auto after =
      std::upper_bound(parts_.begin(), parts_.end(), factor,
                       [](std::uint32_t index, const Part& part) { return index < part.factor; });
  return static_cast<std::size_t>(after - parts_.begin()) - 1;
}

std::size_t EdgeLayout::arity(std::uint32_t factor) const {
  const Part& part = parts_[part_of(factor)];
  if (!part.is_list()) return part.arity;
  const auto begin = begins(part).subspan(factor - part.factor);
  return begin[1] - begin[0];
}

std::uint32_t EdgeLayout::place(std::uint32_t factor, std::size_t edge) const {
  const Part& part = parts_[part_of(factor)];
  const std::uint32_t row = factor - part.factor;
  if (part.is_list()) return begins(part)[row] + static_cast<std::uint32_t>(edge);
  const std::uint32_t place = places(part)[edge];
  return place == no_message ? no_message : part.message + row * part.kept + place;
}

bool EdgeLayout::begins_with(const EdgeLayout& other) const {
  if (other.parts_.size() > parts_.size()) return false;
  return std::equal(
      other.parts_.begin(), other.parts_.end(), parts_.begin(), [](const Part& a, const Part& b) {
        return a.factor == b.factor && a.message == b.message && a.arity == b.arity &&
               a.kept == b.kept && (a.rows == b.rows || (a.is_list() && a.rows < b.rows));
      });
}

void FactorTable::add_one(std::uint16_t kind, std::uint32_t local,
                          std::span<const Variable> variables) {
  const std::size_t parts = layout_.parts().size();
  layout_.add_one(static_cast<std::uint32_t>(variables.size()));
  if (layout_.parts().size() > parts) {
    contents_.push_back({.list = static_cast<std::uint32_t>(list_kind_.size()),
                         .edge = static_cast<std::uint32_t>(list_variables_.size())});
  }
  list_kind_.push_back(kind);
  list_local_.push_back(local);
  for (const Variable variable : variables) list_variables_.push_back(variable.index);
  edges_ += variables.size();
  widest_ = std::max(widest_, variables.size());
}

void FactorTable::add_rows(std::uint16_t kind, std::uint32_t local, std::uint32_t stride,
                           std::uint32_t rows, std::vector<EdgeColumn> columns) {
  std::vector<bool> known;
  for (const EdgeColumn& column : columns)
    known.insert(known.end(), column.width, is_known(column.first));
  layout_.add_rows(rows, known);
  contents_.push_back(
      {.kind = kind, .local = local, .stride = stride, .columns = std::move(columns)});
  edges_ += known.size() * rows;
  widest_ = std::max(widest_, known.size());
}

std::uint16_t FactorTable::kind(std::uint32_t factor) const {
  const std::size_t at = layout_.part_of(factor);
  const EdgeLayout::Part& part = layout_.parts()[at];
  return part.is_list() ? list_kind_[contents_[at].list + (factor - part.factor)]
                        : contents_[at].kind;
}

std::uint32_t FactorTable::local(std::uint32_t factor) const {
  const std::size_t at = layout_.part_of(factor);
  const Contents& contents = contents_[at];
  const std::uint32_t row = factor - layout_.parts()[at].factor;
  return layout_.parts()[at].is_list() ? list_local_[contents.list + row]
                                       : contents.local + row * contents.stride;
}

std::uint32_t FactorTable::variable(std::uint32_t factor, std::size_t edge) const {
  const std::size_t at = layout_.part_of(factor);
  const EdgeLayout::Part& part = layout_.parts()[at];
  const std::uint32_t row = factor - part.factor;
  if (part.is_list()) {
    const std::size_t begin = layout_.begins(part)[row] - part.message;
    return list_variables_[contents_[at].edge + begin + edge];
  }
  auto column = contents_[at].columns.begin();
  for (; edge >= column->width; ++column) edge -= column->width;
  return column->variable(row) + static_cast<std::uint32_t>(edge);
}

FactorArray FactorTable::alike(std::uint32_t factor) const {
  const EdgeLayout::Part& part = layout_.parts()[layout_.part_of(factor)];
  return part.is_list() ? FactorArray{factor, 1} : FactorArray{part.factor, part.rows};
}

FactorTable::Reader::Reader(const FactorTable& table)
    : table_(&table), row_(table.widest_), all_(table.widest_) {
  std::iota(all_.begin(), all_.end(), 0U);
}

void FactorTable::Reader::enter(std::size_t part) {
  part_ = &table_->layout_.parts()[part];
  if (part_->is_list()) return;
  const Contents& contents = table_->contents_[part];
  columns_ = contents.columns;
  view_.kind = contents.kind;
  view_.places = table_->layout_.places(*part_);
  view_.variables = std::span(row_).first(part_->arity);
}

}  // namespace dma::detail
