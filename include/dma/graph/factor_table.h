// graph/factor_table.h: the factors of a graph, their variables and the places of their messages, as flat arrays.
//
// Factors that were added over rows take a few numbers together: the edges of a row follow from its number, or from one
// index per row. Factors that were added one by one are lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dma/graph/arrays.h>

namespace dma::detail {

// Variables from here on are known numbers: the k-th is known_begin + k.
inline constexpr std::uint32_t known_begin = 0x8000'0000;

inline constexpr bool is_known(std::uint32_t variable) { return variable >= known_begin; }

// The place of a message that is not kept: what a factor would say to a known number.
inline constexpr std::uint32_t no_message = UINT32_MAX;

// Where the messages of each factor are. Messages are numbered factor by factor.
class EdgeLayout {
 public:
  // Rows of one array have as many edges each, and `places` says where in a row's messages that of each edge is. A list
  // has arity 0, and `begins` says where the messages of each factor begin.
  struct Part {
    std::uint32_t factor = 0;
    std::uint32_t rows = 0;
    std::uint32_t message = 0;
    std::uint32_t arity = 0;
    std::uint32_t kept = 0;
    std::size_t table = 0;  // where its places, or its begins, are

    bool is_list() const { return arity == 0; }
  };

  void add_one(std::uint32_t arity);
  // Edges to known numbers keep no message.
  void add_rows(std::uint32_t rows, const std::vector<bool>& known_edges);

  std::size_t factor_count() const { return factors_; }
  std::size_t message_count() const { return messages_; }
  std::size_t arity(std::uint32_t factor) const;
  // no_message for an edge to a known number.
  std::uint32_t place(std::uint32_t factor, std::size_t edge) const;

  // Whether the messages of the other, of a graph that became this one, are the first here.
  bool begins_with(const EdgeLayout& other) const;

  std::span<const Part> parts() const { return parts_; }
  std::size_t part_of(std::uint32_t factor) const;
  std::span<const std::uint32_t> places(const Part& part) const {
    return std::span(places_).subspan(part.table, part.arity);
  }
  std::span<const std::uint32_t> begins(const Part& part) const {
    return std::span(begins_).subspan(part.table, part.rows + std::size_t{1});
  }

 private:
  std::vector<Part> parts_;
  std::vector<std::uint32_t> places_, begins_;
  std::size_t factors_ = 0, messages_ = 0;
};

// What an edge, or a stretch of edges, is connected to in each row.
struct EdgeColumn {
  std::uint32_t first = 0;                // variable of the first row
  std::uint32_t width = 1;                // so many variables that follow each other
  std::uint32_t stride = 0;               // from row to row
  std::vector<std::uint32_t> named = {};  // if not empty, the first variable of each row

  std::uint32_t variable(std::uint32_t row) const {
    return named.empty() ? first + row * stride : named[row];
  }
};

// A factor, as a sweep sees it.
struct FactorView {
  std::uint16_t kind = 0;
  std::uint32_t local = 0;                     // place among its kind
  std::uint32_t message = 0;                   // its first message
  std::span<const std::uint32_t> places = {};  // edge -> place after that, or no_message
  std::span<const std::uint32_t> variables = {};
};

class FactorTable {
 public:
  void add_one(std::uint16_t kind, std::uint32_t local, std::span<const Variable> variables);
  // Factors that are at `local`, local + stride, ... among their kind.
  void add_rows(std::uint16_t kind, std::uint32_t local, std::uint32_t stride, std::uint32_t rows,
                std::vector<EdgeColumn> columns);

  const EdgeLayout& layout() const { return layout_; }
  std::size_t factor_count() const { return layout_.factor_count(); }
  std::size_t edge_count() const { return edges_; }
  std::size_t widest() const { return widest_; }

  std::uint16_t kind(std::uint32_t factor) const;
  std::uint32_t local(std::uint32_t factor) const;
  std::uint32_t variable(std::uint32_t factor, std::size_t edge) const;
  std::size_t arity(std::uint32_t factor) const { return layout_.arity(factor); }
  // Rows that have one kind and arity, of which this factor is one; it alone if it is of a list.
  FactorArray alike(std::uint32_t factor) const;

  // Reads one factor after the other, fast if they are close to each other. The views are valid until the next.
  class Reader {
   public:
    explicit Reader(const FactorTable& table);
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    Reader(Reader&&) = default;  // the view stays valid
    Reader& operator=(Reader&&) = default;
    ~Reader() = default;

    const FactorView& operator()(std::uint32_t factor);

   private:
    void enter(std::size_t part);

    const FactorTable* table_;
    const EdgeLayout::Part* part_ = nullptr;
    std::span<const EdgeColumn> columns_ = {};
    std::vector<std::uint32_t> row_;  // variables of a row
    std::vector<std::uint32_t> all_;  // 0, 1, ...: the places of a list's messages
    FactorView view_;
  };

  // Calls visit(factor, view) for all factors.
  template <class Visit>
  void for_each(const Visit& visit) const {
    Reader read(*this);
    for (std::uint32_t factor = 0; factor < factor_count(); ++factor) visit(factor, read(factor));
  }

 private:
  // What a part of the layout holds besides: of rows their kind and columns, of a list the place of its first factor and
  // of its first edge.
  struct Contents {
    std::uint16_t kind = 0;
    std::uint32_t local = 0, stride = 0;
    std::uint32_t list = 0, edge = 0;
    std::vector<EdgeColumn> columns = {};
  };

  EdgeLayout layout_;
  std::vector<Contents> contents_;  // part by part
  std::vector<std::uint16_t> list_kind_;
  std::vector<std::uint32_t> list_local_, list_variables_;
  std::size_t edges_ = 0, widest_ = 0;
};

inline const FactorView& FactorTable::Reader::operator()(std::uint32_t factor) {
  if (part_ == nullptr || factor - part_->factor >= part_->rows)
    enter(table_->layout_.part_of(factor));
  const std::uint32_t row = factor - part_->factor;
  const Contents& contents =
      table_->contents_[static_cast<std::size_t>(part_ - table_->layout_.parts().data())];
  if (part_->is_list()) {
    const std::uint32_t* const begins = table_->layout_.begins(*part_).data() + row;
    view_.kind = table_->list_kind_[contents.list + row];
    view_.local = table_->list_local_[contents.list + row];
    view_.message = begins[0];
    const std::size_t arity = begins[1] - begins[0];
    view_.places = std::span(all_).first(arity);
    view_.variables = std::span(table_->list_variables_)
                          .subspan(contents.edge + (begins[0] - part_->message), arity);
    return view_;
  }
  view_.local = contents.local + row * contents.stride;
  view_.message = part_->message + row * part_->kept;
  std::uint32_t* next = row_.data();
  for (const EdgeColumn& column : columns_) {
    const std::uint32_t first = column.variable(row);
    for (std::uint32_t k = 0; k < column.width; ++k) *next++ = first + k;
  }
  return view_;
}

}  // namespace dma::detail
