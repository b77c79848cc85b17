// The CSV readers. The first two bytes choose the options, the rest is the file. Whatever the size of the blocks
// and of the pieces, they read the same table.
#include <dma/data/csv.h>

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cmath>
#include <optional>

#include "fuzz.h"

namespace dma::fuzz {
namespace {

// A file in memory: readers take a path.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("input.csv", 0)) {
    require(descriptor_ >= 0, "there is a file in memory");
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  const std::string& hold(std::string_view text) {
    require(ftruncate(descriptor_, 0) == 0, "the file can be emptied");
    const auto written = pwrite(descriptor_, text.data(), text.size(), 0);
    require(written == static_cast<ssize_t>(text.size()), "the file takes the input");
    return path_;
  }

 private:
  int descriptor_;
  std::string path_;
};

std::string compressed(std::string_view text) {
  z_stream stream{};
  constexpr int gzip = 15 + 16;
  require(deflateInit2(&stream, 1, Z_DEFLATED, gzip, 1, Z_DEFAULT_STRATEGY) == Z_OK, "zlib works");
  std::string result(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib compresses");
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

struct Outcome {
  std::optional<Table> table;
  std::string error;
};

template <class Read>
Outcome outcome_of(const Read& read) {
  try {
    return {read(), ""};
  } catch (const DataError& error) {
    require_one_line(error.what());
    return {std::nullopt, error.what()};
  }
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string_view text_at(const Column& column, std::size_t row) {
  return column.empty(row) ? std::string_view() : column.values[column.codes[row]];
}

void require_same(const Table& a, const Table& b) {
  require(a.rows() == b.rows() && a.columns.size() == b.columns.size(), "as many rows and columns");
  for (std::size_t row = 0; row < a.rows(); ++row)
    require(a.line(row) == b.line(row), "same lines");
  for (std::size_t k = 0; k < a.columns.size(); ++k) {
    const Column& one = a.columns[k];
    const Column& other = b.columns[k];
    require(one.name == other.name && one.is_text == other.is_text, "same names and types");
    for (std::size_t row = 0; row < one.rows(); ++row) {
      require(one.is_text
                  ? one.empty(row) == other.empty(row) && text_at(one, row) == text_at(other, row)
                  : same_number(one.numbers[row], other.numbers[row]),
              "same cells");
    }
  }
}

// Adds a piece's rows and their lines, which append_rows would otherwise continue to count.
void add(std::optional<Table>& whole, const Table& piece) {
  if (!whole) {
    whole = piece;
    return;
  }
  append_rows(*whole, piece);
}

Table read_by_reader(const std::string& path, CsvOptions options, const Table& known,
                     std::size_t rows) {
  options.columns.clear();
  options.text.clear();
  options.decimal = known.decimal_comma ? Decimal::comma : Decimal::point;
  for (const Column& column : known.columns) {
    options.columns.push_back({column.name, column.is_text ? CellType::text : CellType::number});
  }
  CsvReader reader(path, options);
  std::optional<Table> whole;
  Table piece;
  while (reader.read(piece, rows)) {
    require(piece.rows() > 0 && piece.rows() <= rows, "a piece has some rows, and not too many");
    add(whole, piece);
  }
  require(whole.has_value(), "the reader finds the rows that the whole file has");
  return *whole;
}

CsvOptions options_from(std::uint8_t first) {
  constexpr std::array<char, 8> delimiters{0, ',', ';', '\t', '|', ' ', 'x', '"'};
  constexpr std::array<std::size_t, 4> blocks{1, 3, 70, 4096};
  CsvOptions options;
  options.delimiter = delimiters[first & 7U];
  options.header = (first & 8U) == 0;
  options.block = blocks[first >> 4U & 3U];
  return options;
}

bool is_about_gzip(const std::string& error) { return error.find("gzip") != std::string::npos; }

void read_every_way(const std::string& path, const CsvOptions& options, std::size_t piece_rows) {
  CsvOptions usual = options;
  usual.block = 4096;
  const Outcome whole = outcome_of([&] { return read_csv(path, usual); });
  const Outcome in_blocks = outcome_of([&] { return read_csv(path, options); });
  // If both the compression and the text are wrong, either error may come first.
  const bool two = is_about_gzip(whole.error) || is_about_gzip(in_blocks.error);
  require(whole.error.empty() == in_blocks.error.empty(), "the size of the blocks hides no error");
  require(two || whole.error == in_blocks.error, "the size of the blocks changes no error");
  outcome_of([&] { return csv_columns(path, options), Table(); });
  if (!whole.table) return;
  whole.table->validate();
  require_same(*whole.table, *in_blocks.table);
  require_same(*whole.table, read_by_reader(path, options, *whole.table, piece_rows));
}

}  // namespace
}  // namespace dma::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dma::fuzz;
  static MemoryFile file;
  if (size < 2) return 0;
  const auto text = text_of(data + 2, size - 2);
  const bool compress = (data[0] & 0x80U) != 0;
  const std::string& path = file.hold(compress ? compressed(text) : std::string(text));
  read_every_way(path, options_from(data[0]), 1 + data[1] % 8);
  return 0;
}
