// CSV: what is written is read, in one piece or in many, wherever a block ends; and the error of every mistake in a
// file.
#include <dma/data/csv.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "data/dictionary.h"
#include "data/message.h"
#include "data/number.h"

namespace dma {
namespace {

using namespace std::string_literals;

constexpr std::array<char, 4> delimiters = {',', ';', '\t', '|'};

std::string compressed(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string result(text.size() + 1000, '\0');
  std::string input(text);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

// A file that is removed with its object.
class File {
 public:
  explicit File(std::string_view content) {
    std::string pattern = std::filesystem::temp_directory_path() / "dma_csv_XXXXXX";
    ::close(::mkstemp(pattern.data()));
    path_ = pattern;
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Table read(std::string_view content, const CsvOptions& options = {}) {
  return read_csv(File(content).path(), options);
}

template <class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "no error";
}

// What read_csv says, without the file's name.
std::string error_of(std::string_view content, const CsvOptions& options = {}) {
  const File file(content);
  std::string message = message_of([&] { read_csv(file.path(), options); });
  const std::string name = file.path().string();
  return message.starts_with(name) ? message.substr(name.size()) : message;
}

std::vector<std::string> texts(const Column& column) {
  std::vector<std::string> result;
  for (const std::uint32_t code : column.codes) {
    result.push_back(code == Column::empty_cell ? "(empty)" : column.values[code]);
  }
  return result;
}

using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;

// -0 differs from 0, NaN equals NaN.
bool same(const Numbers& a, const Numbers& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return (std::isnan(x) && std::isnan(y)) ||
           std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

bool same(const Table& a, const Table& b) {
  if (a.columns.size() != b.columns.size() || a.rows() != b.rows()) return false;
  for (std::size_t k = 0; k < a.columns.size(); ++k) {
    const Column& x = a.columns[k];
    const Column& y = b.columns[k];
    if (x.name != y.name || x.is_text != y.is_text || !same(x.numbers, y.numbers) ||
        x.codes != y.codes || x.values != y.values) {
      return false;
    }
  }
  for (std::size_t r = 0; r < a.rows(); ++r) {
    if (a.line(r) != b.line(r)) return false;
  }
  return a.numeric_header == b.numeric_header;
}

void append(Table& table, const Table& piece) {
  const std::size_t before = table.rows();
  if (table.columns.empty()) {
    table = piece;
    table.lines.clear();
  } else {
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      Column& column = table.columns[k];
      const Column& more = piece.columns[k];
      column.numbers.insert(column.numbers.end(), more.numbers.begin(), more.numbers.end());
      csv::Dictionary dictionary;
      Texts values;
      for (const std::string& value : column.values) dictionary.code(value, values);
      for (const std::uint32_t code : more.codes) {
        column.codes.push_back(
            code == Column::empty_cell ? code : dictionary.code(more.values[code], values));
      }
      column.values = values;
    }
  }
  for (std::size_t r = 0; r < piece.rows(); ++r) {
    table.lines.resize(before + r + 1);
    table.lines[before + r] = static_cast<std::uint32_t>(piece.line(r));
  }
}

Table read_pieces(const std::filesystem::path& path, const CsvOptions& options, std::size_t rows) {
  CsvReader reader(path, options);
  Table table;
  Table piece;
  while (reader.read(piece, rows)) {
    EXPECT_LE(piece.rows(), rows);
    append(table, piece);
  }
  return table;
}

TEST(Csv, ReadsNumbersAndText) {
  const Table table = read("x,name,y\n1,ann,2.5\n-3e2,bob,\n+.5,ann,NA\n");
  ASSERT_EQ(table.columns.size(), 3U);
  EXPECT_EQ(table.columns[0].name, "x");
  EXPECT_EQ(table.columns[0].numbers, (Numbers{1, -300, 0.5}));
  EXPECT_TRUE(table.columns[1].is_text);
  EXPECT_EQ(table.columns[1].values, (Texts{"ann", "bob"}));
  EXPECT_EQ(table.columns[1].codes, (std::vector<std::uint32_t>{0, 1, 0}));
  EXPECT_EQ(table.columns[2].numbers[0], 2.5);
  EXPECT_TRUE(table.columns[2].empty(1));
  EXPECT_TRUE(table.columns[2].empty(2));
  EXPECT_EQ(table.first_line, 2U);
  EXPECT_TRUE(table.lines.empty());
  EXPECT_FALSE(table.numeric_header);
}

TEST(Csv, EmptyCells) {
  const Table table =
      read("x,t\n1,a\n,\n na ,N/A\nNaN,-nan\nNULL,none\n?,  \n\"\",\"\"\n2,\"NA\"\n");
  for (std::size_t r = 1; r < 7; ++r) {
    EXPECT_TRUE(table.columns[0].empty(r)) << r;
    EXPECT_TRUE(table.columns[1].empty(r)) << r;
  }
  EXPECT_EQ(table.columns[1].values, (Texts{"a", "NA"}));
  EXPECT_EQ(table.columns[0].numbers[7], 2);
}

TEST(Csv, QuotesSpaceAndLineEnds) {
  const Table table = read(
      "\xEF\xBB\xBF a , \"b c\" \r\n\r\n 1 ,\" x \"\r\n\"2\", \"two\r\nlines\" \r\n  \r\n3, 5\" "
      "disk ");
  EXPECT_EQ(table.columns[0].name, "a");
  EXPECT_EQ(table.columns[1].name, "b c");
  EXPECT_EQ(table.columns[0].numbers, (Numbers{1, 2, 3}));
  EXPECT_EQ(texts(table.columns[1]), (Texts{" x ", "two\r\nlines", "5\" disk"}));
  EXPECT_EQ(table.lines, (std::vector<std::uint32_t>{3, 4, 7}));
}

TEST(Csv, LinesAreKeptOnlyWhereRowsAndLinesPart) {
  EXPECT_TRUE(read("x\n1\n2\n").lines.empty());
  EXPECT_EQ(read("\n\nx\n\n1\n2\n").first_line, 5U);
  EXPECT_TRUE(read("\n\nx\n\n1\n2\n").lines.empty());
  EXPECT_EQ(read("x\n1\n2\n\n3\n").lines, (std::vector<std::uint32_t>{2, 3, 5}));
}

TEST(Csv, WithoutHeader) {
  const Table table = read("1;a\n2;b", {.header = false});
  EXPECT_EQ(table.columns[0].name, "c1");
  EXPECT_EQ(table.columns[1].name, "c2");
  EXPECT_EQ(table.columns[0].numbers, (Numbers{1, 2}));
  EXPECT_EQ(table.first_line, 1U);
  EXPECT_FALSE(table.numeric_header);
}

TEST(Csv, UnnamedColumnsAreNumbered) {
  const Table table = read(",x,\n0,1,2\n");
  EXPECT_EQ(table.columns[0].name, "c1");
  EXPECT_EQ(table.columns[2].name, "c3");
}

TEST(Csv, NotesAHeaderOfNumbers) {
  EXPECT_TRUE(read("1,2\n3,4\n").numeric_header);
  EXPECT_FALSE(read("1,y\n3,4\n").numeric_header);
  EXPECT_FALSE(read(",0,1\n0,3,4\n").numeric_header);
}

TEST(Csv, FindsTheDelimiter) {
  EXPECT_EQ(read("a\tb\n1\t2\n").columns.size(), 2U);
  EXPECT_EQ(read("a|b\n1|2\n").columns.size(), 2U);
  EXPECT_EQ(read("a\n1\n2\n").columns.size(), 1U);
  EXPECT_EQ(read("x;\"a,b,c\"\n1;\"d,e,f\"\n").columns.size(), 2U);
  EXPECT_EQ(read("x;text\n1;a, b and c\n2;d\n").columns.size(), 2U);
  EXPECT_EQ(read("1,2,a;b;c;d\n3,4,e;f;g;h\n", {.header = false}).columns.size(), 3U);
  EXPECT_EQ(read("a;b\n1;2\n", {.delimiter = ','}).columns.size(), 1U);
  EXPECT_EQ(read("a:b\n1:2\n", {.delimiter = ':'}).columns.size(), 2U);
}

TEST(Csv, WantedColumnsInTheirOrder) {
  const Table table =
      read("a,b,c\n1,x,3\n4,y,6\n", {.columns = {{.name = "c", .type = CellType::number},
                                                 {.name = "a", .type = CellType::text}}});
  ASSERT_EQ(table.columns.size(), 2U);
  EXPECT_EQ(table.columns[0].numbers, (Numbers{3, 6}));
  EXPECT_EQ(texts(table.columns[1]), (Texts{"1", "4"}));
  EXPECT_EQ(read("a,b\n1,2\n", {.text = {"b"}}).columns[1].values, Texts{"2"});
}

TEST(Csv, ColumnsThatTurnOutToBeText) {
  std::string content = "a,b,c,d,e\n";
  for (int r = 0; r < 200; ++r) {
    const std::string n = std::to_string(r);
    content += (r == 20 ? "x"s : n) + ',' + (r == 21 ? "y"s : n + ".0") + ',' +
               (r == 100 ? "z"s : n) + ',' + (r == 180 ? "w"s : n) + ',' + n + '\n';
  }
  for (const std::size_t block : std::vector<std::size_t>{1, 100, 1 << 20}) {
    const Table table = read(content, {.plain = {"a", "b", "c", "d"}, .block = block});
    for (std::size_t k = 0; k < 4; ++k) EXPECT_TRUE(table.columns[k].is_text) << k;
    EXPECT_EQ(texts(table.columns[0])[20], "x");
    EXPECT_EQ(texts(table.columns[1])[3], "3.0");
    EXPECT_EQ(texts(table.columns[3])[199], "199");
    EXPECT_FALSE(table.columns[4].is_text);
    EXPECT_EQ(table.columns[4].numbers[199], 199);
    EXPECT_EQ(table.rows(), 200U);
  }
  const Table late = read("a,b\n,1\nNA,2\nx,3\n");
  EXPECT_EQ(texts(late.columns[0]), (Texts{"(empty)", "(empty)", "x"}));
}

TEST(Csv, TenThousandColumns) {
  constexpr std::size_t count = 10'000;
  std::string content;
  CsvOptions reversed;
  for (std::size_t k = 0; k < count; ++k) content += "name" + std::to_string(k) + ",";
  content.back() = '\n';
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t k = 0; k < count; ++k) content += std::to_string(k + r) + ",";
    content.back() = '\n';
  }
  for (std::size_t k = count; k-- > 0;) reversed.columns.push_back({"name" + std::to_string(k)});
  EXPECT_EQ(read(content).columns[9'999].numbers, (Numbers{9'999, 10'000, 10'001}));
  EXPECT_EQ(read(content, reversed).columns[9'999].numbers, (Numbers{0, 1, 2}));
}

TEST(Csv, NamesOfColumns) {
  const File file("a,,\"b,\n\"\n");
  EXPECT_EQ(csv_columns(file.path()), (Texts{"a", "c2", "b,\n"}));
  EXPECT_EQ(csv_columns(file.path(), {.header = false}), (Texts{"c1", "c2", "c3"}));
}

TEST(CsvNumbers, EdgesOfDouble) {
  const Table table = read(
      "x\n-0\n4.9e-324\n1e300\n-1e300\n1e-400\n-1e-999\n0.1\n9007199254740993\n9007199254740992\n"
      "123456789012345678\n0.000000000000001\n1.\n.5\n-.5\n007\n0000000000000001\n");
  EXPECT_TRUE(same(table.columns[0].numbers,
                   {-0.0, 4.9e-324, 1e300, -1e300, 0, -0.0, 0.1, 9007199254740992.0,
                    9007199254740992.0, 123456789012345680.0, 1e-15, 1, 0.5, -0.5, 7, 1}));
}

TEST(CsvNumbers, WhatIsNoNumber) {
  for (const char* text : {"1e", "0x10", "+-5", "--5", "-", ".", "-.", "1.2.3", "1 2", "1,2",
                           "five", "nan(x)", "1/2", "1:2", "12345678:", "/1"}) {
    EXPECT_TRUE(read("x\n\""s + text + "\"\n\"b\"").columns[0].is_text) << text;
    EXPECT_TRUE(read("x;y\n"s + text + ";1\nb;2").columns[0].is_text) << text;
  }
}

// The short way to a number and the long one agree, to the bit and about what is no number.
RC_GTEST_PROP(CsvNumbers, ShortNumbersAreFromCharsNumbers, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 18);
  std::string text =
      *rc::gen::container<std::string>(size, rc::gen::weightedElement<char>({{4, '0'},
                                                                             {4, '1'},
                                                                             {4, '5'},
                                                                             {4, '9'},
                                                                             {3, '.'},
                                                                             {1, '-'},
                                                                             {1, '/'},
                                                                             {1, ':'},
                                                                             {1, 'e'},
                                                                             {1, ' '}}));
  const std::string cell =
      text + *rc::gen::element(",........1234567890"s, "\n1234567890123456789"s);
  double quick = 1;
  double slow = 2;
  if (!csv::is_short_number(cell.data(), cell.data() + size, quick)) return;
  RC_ASSERT(csv::is_plain_number(cell.data(), cell.data() + size, slow));
  RC_ASSERT(same(Numbers{quick}, Numbers{slow}));
}

TEST(CsvNumbers, OrdinaryNumbersAreShort) {
  for (const std::string text : {"1", "-1.5", "1234567890123456", ".000123456789012", "0"}) {
    double value = 0;
    const std::string cell = text + std::string(20, ',');
    EXPECT_TRUE(csv::is_short_number(cell.data(), cell.data() + text.size(), value)) << text;
  }
}

TEST(CsvErrors, Files) {
  const auto missing = std::filesystem::temp_directory_path() / "dma_no\nsuch.csv";
  EXPECT_NE(message_of([&] { read_csv(missing); }).find("dma_no\\nsuch.csv: there is no such file"),
            std::string::npos);
  const auto directory = std::filesystem::temp_directory_path();
  EXPECT_EQ(message_of([&] { read_csv(directory); }),
            directory.string() + ": is a directory, not a file");
  EXPECT_EQ(error_of(""), ": the file is empty");
  EXPECT_EQ(error_of(compressed("")), ": the file is empty");
  EXPECT_EQ(error_of("\xEF\xBB\xBF"), ": the file has only blank lines");
  EXPECT_EQ(error_of("\n \n\n"), ": the file has only blank lines");
  EXPECT_EQ(error_of("a,b\n"), ": the file has a header but no rows");
  EXPECT_EQ(error_of("a,b"), ": the file has a header but no rows");
}

TEST(CsvErrors, NoPermission) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const File file("x\n1\n");
  std::filesystem::permissions(file.path(), std::filesystem::perms::none);
  EXPECT_EQ(message_of([&] { read_csv(file.path()); }),
            file.path().string() + ": no permission to read it");
}

TEST(CsvErrors, WhatTheSystemSays) {
  const File file("");
  const std::filesystem::path link = file.path().string() + ".link";
  std::filesystem::create_symlink(link, link);
  EXPECT_EQ(message_of([&] { read_csv(link); }),
            link.string() + ": cannot be opened: Too many levels of symbolic links");
  std::filesystem::remove(link);
#ifdef __linux__  // the first page of every process is unmapped, so it opens and cannot be read
  EXPECT_EQ(message_of([] { read_csv("/proc/self/mem"); }),
            "/proc/self/mem: cannot be read: Input/output error");
#endif
}

TEST(CsvErrors, Encodings) {
  EXPECT_EQ(error_of("x,y\n1,\0\n"s), ", line 2: a NUL byte: this is binary data, not a CSV file");
  EXPECT_EQ(error_of("x,y\n1,\"\n\0\"\n"s),
            ", line 3: a NUL byte: this is binary data, not a CSV file");
  EXPECT_EQ(error_of("PK\x03\x04 and so on"),
            ": is a zip file or a spreadsheet, not a CSV file; save it as CSV");
}

TEST(CsvErrors, Rows) {
  EXPECT_EQ(error_of("a,b,c\n1,2,3\n4,5\n"), ", line 3: expected 3 cells as in line 1, found 2");
  EXPECT_EQ(error_of("a,b\n\"1\n\",2\n\n1,2,3\n"),
            ", line 5: expected 2 cells as in line 1, found 3");
  EXPECT_EQ(error_of("a,b\n\"1\n\",\"2\n3,4\n"),
            ", line 3: the quote that begins here is never closed");
  EXPECT_EQ(error_of("a,b\n\"1\" 2,3\n"),
            ", line 2: text between a closing quote and the next delimiter; double a quote inside "
            "quotes");
  EXPECT_EQ(error_of("a,b\r1,2\r"),
            ", line 1: a carriage return without a line feed; lines must end in LF or CRLF");
}

TEST(CsvErrors, Names) {
  EXPECT_EQ(error_of("a,b,c,b\n1,2,3,4\n"),
            ", line 1, column 'b': the name appears twice, at 2 and 4; rename one of the columns");
  EXPECT_EQ(error_of("Price ,b\n1,2\n", {.columns = {{"price"}}}),
            ": there is no column 'price'; did you mean 'Price'?");
  EXPECT_EQ(error_of("\"Unit Price\",b\n1,2\n", {.columns = {{"unitprice"}}}),
            ": there is no column 'unitprice'; did you mean 'Unit Price'?");
  EXPECT_EQ(error_of("a,b\n1,2\n", {.columns = {{"z"}}}),
            ": there is no column 'z'; the columns are 'a', 'b'");
  EXPECT_EQ(error_of("a,b\n1,2\n", {.text = {"z"}}),
            ": there is no column 'z'; the columns are 'a', 'b'");
  EXPECT_EQ(error_of("a\n1\n", {.delimiter = '"'}),
            ": '\"' cannot be the delimiter; use a comma, semicolon, tab or |");
}

TEST(CsvErrors, Numbers) {
  const CsvOptions number = {.columns = {{.name = "x", .type = CellType::number}}, .strict = true};
  EXPECT_EQ(error_of("a,x\n1,2\n3,\"t\two\n\"\n", number),
            ", line 3, column 'x': 't\\two\\n' is not a number");
  EXPECT_EQ(error_of("a;x\n1;2\n3;2,5\n", number),
            ", line 3, column 'x': '2,5' has a decimal comma; use --decimal ,");
  const std::string long_text(1000, 'z');
  EXPECT_EQ(error_of("x\n" + long_text, number),
            ", line 2, column 'x': '" + std::string(60, 'z') + "...' is not a number");
  for (const CsvOptions& options : {CsvOptions{}, number}) {
    for (const char* text : {"inf", "-Infinity", "INF", "+inf"}) {
      EXPECT_EQ(error_of("x\n1\n"s + text + "\n2\n", options),
                ", line 3, column 'x': '"s + text +
                    "' is not finite; leave the cell empty if the number is unknown");
    }
    for (const char* text : {"1e999", "-1e999", "1.1e300", "-2e307"}) {
      EXPECT_EQ(error_of("x\n1\n"s + text + "\n2\n", options),
                ", line 3, column 'x': '"s + text + "' is larger than 1e300; rescale the column");
    }
    EXPECT_EQ(error_of("x\n1" + std::string(700, '0') + "e-300\n", options).substr(0, 30),
              ", line 2, column 'x': '1000000");
  }
  EXPECT_TRUE(read("x\ninf\nfin\n1e999\n").columns[0].is_text);
}

// ------------------------------------------------------------------------------- numbers as people write them

// Numbers of the first column.
Numbers first_column(std::string_view content, const CsvOptions& options = {}) {
  const Table table = read(content, options);
  EXPECT_FALSE(table.columns[0].is_text) << content;
  return table.columns[0].numbers;
}

// Those of a column of these cells.
Numbers numbers_of(const Texts& cells) {
  std::string content = "x;y\n";
  for (const std::string& cell : cells) content += cell + ";1\n";
  return first_column(content);
}

TEST(CsvNumbers, SeparatorsOfThousands) {
  EXPECT_EQ(first_column("x;y\n7,413;1\n1,234.5;2\n-12,345,678;3\n999;4\n"),
            (Numbers{7413, 1234.5, -12345678, 999}));
  EXPECT_EQ(numbers_of({"1 234.5", "1'234", "1\u2019234", "1\u00a0234", "1\u202f234"}),
            (Numbers{1234.5, 1234, 1234, 1234, 1234}));
  EXPECT_EQ(numbers_of({"1.234,56", "1 234,5", "1'234", "1.234.567", "7.413"}),
            (Numbers{1234.56, 1234.5, 1234, 1234567, 7413}));
  for (const char* text : {"1,23", "0,123", "12,34,567", "1234,567", "1,234,56", "1 23",
                           "1 234'567", "1,234e5", "12:30", "1-2", "5'11", "1.2.3"}) {
    double value = 0;
    EXPECT_EQ(csv::read_number(text, value), csv::Reading::text) << text;
  }
}

TEST(CsvNumbers, CurrencyAndPercent) {
  EXPECT_EQ(
      numbers_of({"$7", "-$5.5", "$-3", "$ 1 234", "7 \u20ac", "EUR 8", "9USD", "\u00a31,000"}),
      (Numbers{7, -5.5, -3, 1234, 7, 8, 9, 1000}));
  EXPECT_EQ(numbers_of({"12%", "-3.5 %", "\u22124"}), (Numbers{12, -3.5, -4}));
  for (const char* text : {"$", "%", "$5$", "5%%", "- 5", "--5", "+-5", "5 kg", "$5e3", "$inf"}) {
    double value = 0;
    EXPECT_EQ(csv::read_number(text, value), csv::Reading::text) << text;
  }
  const Table table = read("x;y\n1;1\n$7,413;1\n8;1\n$9;1\n");
  EXPECT_EQ(table.columns[0].marked.count, 2U);
  EXPECT_EQ(table.columns[0].marked.line, 3U);
  EXPECT_EQ(table.columns[0].marked.value, "$7,413");
  EXPECT_EQ(table.columns[0].marked.number, 7413);
  EXPECT_EQ(error_of("x\n$1" + std::string(305, '0') + "\n").substr(0, 24),
            ", line 2, column 'x': '$");
}

TEST(CsvNumbers, EmptyAmongNumbersOnly) {
  const Table table = read("x,t\n-,-\n1,+\n--,--\nmissing,missing\n.,+\n#N/A,#N/A\n<NA>,n.a.\n");
  EXPECT_FALSE(table.columns[0].is_text);
  for (const std::size_t row : {0U, 2U, 3U, 4U, 5U, 6U})
    EXPECT_TRUE(table.columns[0].empty(row)) << row;
  EXPECT_EQ(table.columns[0].stray.count, 0U);
  EXPECT_EQ(texts(table.columns[1]), (Texts{"-", "+", "--", "missing", "+", "(empty)", "(empty)"}));
}

TEST(CsvNumbers, DecimalCommaIsFound) {
  const Table table = read("a;x\n1;3\n2;3,14\n3;NA\n");
  EXPECT_TRUE(table.decimal_comma);
  EXPECT_EQ(table.columns[1].numbers[1], 3.14);
  EXPECT_TRUE(table.columns[1].empty(2));
  EXPECT_EQ(first_column("x\ta\n-1.234,5\t1\n2,5E+03\t2\n"), (Numbers{-1234.5, 2500}));
  EXPECT_EQ(first_column("1,5;2,5\n2,5;3,5\n", {.header = false}), (Numbers{1.5, 2.5}));
  // Another column shows what 7,413 is.
  EXPECT_EQ(read("x;y\n7,413;0,5\n", {}).columns[0].numbers, Numbers{7.413});
  EXPECT_EQ(read("x;y\n7,413;0.5\n", {}).columns[0].numbers, Numbers{7413});
  EXPECT_EQ(read("x;y\n7,413;2\n", {.decimal = Decimal::comma}).columns[0].numbers, Numbers{7.413});
  EXPECT_TRUE(read("x;y\n3,14;2\n", {.decimal = Decimal::point}).columns[0].is_text);
  EXPECT_EQ(first_column("x;y\n1.5;\"a, b\"\n2.5;3,5\n"), (Numbers{1.5, 2.5}));  // y is text
}

TEST(CsvNumbers, TwoDecimalMarks) {
  EXPECT_EQ(error_of("x;y\n3,14;2\n4,5;2.75\n"),
            ", line 2, column 'x': '3,14' has a decimal comma, but '2.75' in line 3, column 'y', a "
            "decimal point; say which with --decimal , or --decimal .");
  EXPECT_EQ(error_of("x;y\n2.75;2\n3,14;1\n"),
            ", line 3, column 'x': '3,14' has a decimal comma, but '2.75' in line 2, column 'x', a "
            "decimal point; say which with --decimal , or --decimal .");
  const CsvOptions comma = {
      .columns = {{.name = "x", .type = CellType::number, .decimal = Decimal::comma}}};
  EXPECT_EQ(error_of("x;y\n2.75;2\n", comma),
            ", line 2, column 'x': '2.75' has a decimal point, and the column has decimal commas; "
            "use --decimal .");
  EXPECT_EQ(error_of("a;x\n1;2\n3;2,5\n", {.columns = {{.name = "x", .type = CellType::number}}}),
            ", line 3, column 'x': '2,5' has a decimal comma; use --decimal ,");
  CsvOptions asked = comma;
  asked.decimal = Decimal::comma;
  EXPECT_EQ(read("x;y\n2.75;2\n", asked).columns[0].stray.value, "2.75");
  EXPECT_EQ(read("x;y\n3,14;2\n4,5;2.75\n", {.plain = {"x"}}).columns[1].numbers[1], 2.75);
}

// ---------------------------------------------------------------------------------------- stray cells

std::string with_strays(std::size_t numbers, std::size_t strays, const std::string& stray) {
  std::string content = "x,y\n";
  for (std::size_t row = 0; row < numbers; ++row) content += std::to_string(row) + ",1\n";
  for (std::size_t k = 0; k < strays; ++k) content += stray + ",1\n";
  return content;
}

TEST(CsvStrays, HowManyAreAFew) {
  const auto is_text = [](std::size_t numbers, std::size_t strays) {
    return read(with_strays(numbers, strays, "unknown")).columns[0].is_text;
  };
  EXPECT_FALSE(is_text(243, 1));
  EXPECT_FALSE(is_text(38, 2));
  EXPECT_TRUE(is_text(37, 2));
  EXPECT_FALSE(is_text(9, 1));
  EXPECT_TRUE(is_text(8, 1));
  EXPECT_TRUE(is_text(18, 2));
  EXPECT_TRUE(is_text(0, 1));
}

// Of 244 cells.
void expect_one_stray(const Table& table, std::size_t place) {
  const Column& column = table.columns[0];
  EXPECT_EQ(column.stray.count, 1U);
  EXPECT_EQ(column.stray.line, place + 2);
  EXPECT_EQ(column.stray.value, "unknown");
  EXPECT_TRUE(column.empty(place));
  ReadingNotes notes;
  notes.add(table);
  EXPECT_EQ(notes.columns[0].filled, 243U);
  EXPECT_EQ(notes.stray_cells(), 1U);
}

std::string refusal_of_one_stray(std::size_t place, const std::string& kind) {
  return ", line " + std::to_string(place + 2) + ", column 'x': 'unknown' is not a " + kind +
         ", but 243 of 244 cells are; correct it, or leave out --strict";
}

// Wherever the stray cells stand, and however the file is divided.
TEST(CsvStrays, AreCountedAndNamed) {
  for (const std::size_t place : {0U, 1U, 48U, 243U}) {
    std::string content = "x,y\n";
    for (std::size_t row = 0; row < 244; ++row) {
      content += (row == place ? "unknown"s : std::to_string(row) + ".5") + ",1\n";
    }
    for (const std::size_t block : {1U, 100U, 1U << 20U}) {
      const Table table = read(content, {.block = block});
      ASSERT_FALSE(table.columns[0].is_text);
      EXPECT_EQ(table.columns[0].numbers[100], 100.5);
      expect_one_stray(table, place);
    }
    EXPECT_EQ(error_of(content, {.strict = true}), refusal_of_one_stray(place, "number"));
    EXPECT_TRUE(read(content, {.plain = {"x"}}).columns[0].is_text);
  }
}

TEST(CsvStrays, AmongDates) {
  for (const std::size_t place : {0U, 1U, 48U, 243U}) {
    std::string content = "x,y\n";
    for (std::size_t row = 0; row < 244; ++row) {
      const std::string day = std::to_string(row % 28 + 1);
      content +=
          (row == place ? "unknown"s : day + (row % 2 == 0 ? "/1/2024" : ".2.2023")) + ",1\n";
    }
    for (const std::size_t block : {1U, 100U, 1U << 20U}) {
      const Table table = read(content, {.block = block});
      ASSERT_TRUE(table.columns[0].is_text);
      expect_one_stray(table, place);
    }
    EXPECT_EQ(error_of(content, {.strict = true}), refusal_of_one_stray(place, "date"));
    const File file(content);
    ReadingNotes notes;
    read_csv_pieces(
        file.path(), {}, 50, [&] { notes = {}; }, [&](const Table& piece) { notes.add(piece); });
    EXPECT_EQ(notes.stray_cells(), 1U);
    EXPECT_EQ(notes.columns[0].filled, 243U);
    EXPECT_EQ(read(content, {.text = {"x"}}).columns[0].stray.count, 0U);
    EXPECT_EQ(read(content, {.plain = {"x"}}).columns[0].stray.count, 0U);
  }
  // Where it is known, there is no limit.
  const CsvOptions known = {.columns = {{.name = "x", .type = CellType::text, .dates = true}}};
  const std::string content = "x,y\n2024-01-02,1\nunknown,2\n,3\nsoon,4\n";
  EXPECT_EQ(read(content, known).columns[0].stray.count, 2U);
  CsvOptions strict = known;
  strict.strict = true;
  EXPECT_EQ(error_of(content, strict), ", line 3, column 'x': 'unknown' is not a date");
}

TEST(CsvStrays, WhereNumbersAreKnown) {
  const CsvOptions number = {.columns = {{.name = "x", .type = CellType::number}}};
  const Table table = read("x,y\n1,2\nunknown,3\nlow,4\n-,5\n", number);
  EXPECT_EQ(table.columns[0].stray.count, 2U);
  EXPECT_EQ(table.columns[0].stray.line, 3U);
  EXPECT_TRUE(table.columns[0].empty(1) && table.columns[0].empty(2) && table.columns[0].empty(3));
}

// ------------------------------------------------------------------------------------------ encodings

std::string utf16(std::u16string_view text, bool big, bool mark) {
  std::string bytes;
  const auto add = [&](char16_t unit) {
    const char low = static_cast<char>(unit & 0xffU);
    const char high = static_cast<char>(unit >> 8U);
    bytes += big ? high : low;
    bytes += big ? low : high;
  };
  if (mark) add(0xfeff);
  for (const char16_t unit : text) add(unit);
  return bytes;
}

TEST(CsvEncodings, AreDecoded) {
  const std::u16string text = u"Größe,Ort\n1,Köln 😀\n2,€\n";
  const auto check = [](const std::string& bytes, const std::string& encoding,
                        const Texts& values) {
    for (const std::size_t block : {1U, 2U, 3U, 5U, 1U << 20U}) {
      const Table table = read(bytes, {.block = block});
      EXPECT_EQ(table.columns[0].name, "Größe");
      EXPECT_EQ(texts(table.columns[1]), values) << block;
      EXPECT_EQ(table.encoding, encoding);
    }
  };
  for (const bool big : {false, true}) {
    for (const bool mark : {false, true}) check(utf16(text, big, mark), "UTF-16", {"Köln 😀", "€"});
  }
  check("Gr\xf6\xdf"s + "e,Ort\n1,K\xf6ln\n2,\x80\n", "Windows-1252", {"Köln", "€"});
  check("Größe,Ort\n1,Köln\n2,K\xf6ln\n", "Windows-1252", {"Köln", "Köln"});
  check("Größe,Ort\n1,Köln 😀\n2,€\n", "", {"Köln 😀", "€"});
  EXPECT_EQ(read("x,t\n1,\xe2\x82").columns[1].values, Texts{"â‚"});  // cut off
}

TEST(CsvGzip, DamagedFiles) {
  std::string content = "x,y\n";
  for (int r = 0; r < 300; ++r) content += std::to_string(r * r) + ",2\n";
  const std::string good = compressed(content);
  EXPECT_EQ(error_of(good), "no error");
  for (std::size_t size = 2; size < good.size(); size += 7) {
    EXPECT_EQ(error_of(good.substr(0, size)),
              ": the gzip file is cut off; copy or download it again");
  }
  std::string bad = good;
  bad[good.size() - 6] = static_cast<char>(bad[good.size() - 6] ^ 1);
  EXPECT_EQ(error_of(bad), ": the gzip file is damaged (incorrect data check)");
  EXPECT_EQ(error_of("\x1f\x8b nonsense"),
            ": the gzip file is damaged (unknown compression method)");
  EXPECT_EQ(error_of(good + "more"),
            ": the compressed data is followed by something that is not gzip");
  EXPECT_EQ(error_of(good + std::string(100, '\0')), "no error");
}

TEST(CsvGzip, ConcatenatedFiles) {
  const std::string content = compressed("x,y\n1,2\n3") + compressed("") + compressed(",4\n5,6");
  for (const std::size_t block : std::vector<std::size_t>{1, 2, 3, 10, 1 << 20}) {
    EXPECT_EQ(read(content, {.block = block}).columns[1].numbers, (Numbers{2, 4, 6})) << block;
  }
}

// Everything that a block can end in the middle of.
const std::string tricky =
    "\xEF\xBB\xBF"
    "a,\"b\"\"\r\n,c\", d\r\n"
    "1.25,\"x\"\"\",\" \"\r\n"
    "\r\n"
    "-1e-7 , \"\"\"\"\"\" ,\"\"\r\n"
    "NaN,\"q,\r\n\r\r\n\"\"z\",\xC3\xA9\"e\"\n"
    "12345678901234567890, ,\"\"\"\"\r\n"
    "\"7\",last,\"end\"\r";

TEST(CsvBlocks, EverySplit) {
  const CsvOptions types = {.columns = {{.name = "a", .type = CellType::number},
                                        {.name = "b\"\r\n,c", .type = CellType::text},
                                        {.name = "d", .type = CellType::text}}};
  const Table whole = read(tricky);
  EXPECT_TRUE(
      same(whole.columns[0].numbers, {1.25, -1e-7, std::nan(""), 12345678901234567890.0, 7}));
  EXPECT_EQ(texts(whole.columns[1]), (Texts{"x\"", "\"\"", "q,\r\n\r\r\n\"z", "(empty)", "last"}));
  EXPECT_EQ(texts(whole.columns[2]), (Texts{" ", "(empty)", "\xC3\xA9\"e\"", "\"", "end"}));
  EXPECT_EQ(whole.lines, (std::vector<std::uint32_t>{3, 5, 6, 9, 10}));
  for (const std::string& content : {tricky, compressed(tricky)}) {
    const File file(content);
    for (std::size_t block = 1; block <= tricky.size() + 1; ++block) {
      for (const char delimiter : {'\0', ','}) {
        CsvOptions options = types;
        options.block = block;
        options.delimiter = delimiter;
        EXPECT_TRUE(same(read_csv(file.path(), {.delimiter = delimiter, .block = block}), whole));
        EXPECT_TRUE(same(read_pieces(file.path(), options, 2), whole)) << block;
      }
    }
  }
}

TEST(CsvBlocks, ErrorsDoNotDependOnThem) {
  for (const std::string& content :
       {"a,b\n\"1\n\",\"2\n3,4\n"s, "a,b\n1\r2,3\n"s, "a,b\n1,\"2\"x\n"s, "a,b\n1,2\n3\n"s,
        "a,b\n1,x\0y\n"s, "a,b\n1,\"inf\"\n"s}) {
    const std::string expected = error_of(content, {.delimiter = ','});
    EXPECT_NE(expected, "no error");
    for (std::size_t block = 1; block <= content.size(); ++block) {
      EXPECT_EQ(error_of(content, {.delimiter = ',', .block = block}), expected);
      EXPECT_EQ(error_of(content, {.block = block}), expected);
    }
  }
}

// 1,5;2 says semicolon, x,y says comma: the delimiter is found from a hundred lines, and blank ones do not count.
TEST(CsvBlocks, TheDelimiterDoesNotDependOnThem) {
  const auto content = [](std::size_t semicolons) {
    std::string text = "a,b;c\n" + std::string(99, '\n');
    for (std::size_t n = 0; n < semicolons; ++n) text += "1,5;2\n";
    for (std::size_t n = 0; n < 200; ++n) text += "x,y\n";
    return text;
  };
  for (const std::size_t block : {1U, 2U, 3U, 7U, 20U, 70U, 150U, 200U, 512U, 1U << 16U}) {
    EXPECT_EQ(error_of(content(10), {.block = block}), "no error") << block;
    const std::string error = error_of(content(99), {.block = block});
    EXPECT_NE(error.find("line 200: expected 2 cells"), std::string::npos) << block << error;
  }
}

// A megabyte is looked at if lines are long, or three of them.
TEST(CsvBlocks, TheDelimiterOfLongLinesDoesNotDependOnThem) {
  for (const std::size_t words : {100'000U, 400'000U}) {
    const std::string word(words, 'w');
    std::string content = "a,b;c\n";
    for (int n = 0; n < 12; ++n) content += word + ",5;2\n";
    for (int n = 0; n < 200; ++n) content += "x,y\n";
    const std::string expected = error_of(content, {.block = 1U << 24U});
    EXPECT_NE(expected, "no error");
    for (const std::size_t block : {10'000U, 300'000U, 1'000'000U, 1'500'000U}) {
      EXPECT_EQ(error_of(content, {.block = block}), expected) << block;
    }
  }
}

TEST(CsvBlocks, ARowLargerThanManyBlocks) {
  const std::string word(3'000'000, 'w');
  const Table table = read("a,b\n1,\"" + word + "\"\n2,x\n", {.block = 1 << 16});
  EXPECT_EQ(table.columns[1].values, (Texts{word, "x"}));
}

// Reads in pieces and puts them together again; how often it began is counted.
Table together(const std::filesystem::path& path, std::size_t rows, int* begun = nullptr) {
  std::vector<Table> pieces;
  int times = 0;
  read_csv_pieces(
      path, {}, rows,
      [&] {
        ++times;
        pieces.clear();
      },
      [&](const Table& piece) {
        EXPECT_LE(piece.rows(), rows);
        pieces.push_back(piece);
      });
  if (begun != nullptr) *begun = times;
  Table whole;
  for (Table& piece : pieces) {
    if (whole.columns.empty()) {
      whole = piece;
      continue;
    }
    for (std::size_t k = 0; k < whole.columns.size(); ++k) {  // empty so far: becomes text
      Column& column = whole.columns[k];
      if (column.is_text == piece.columns[k].is_text) continue;
      column = {.name = column.name,
                .codes = std::vector(column.numbers.size(), Column::empty_cell),
                .is_text = true};
    }
    append_rows(whole, piece);
  }
  return whole;
}

TEST(CsvPieces, AreTheTable) {
  const std::string late = "a,b,c\n1,x,\n2,y,\n3,,\n4,x,soon\nlow,z,now\n,x,soon\n";
  const std::string strays = with_strays(30, 1, "unknown");
  const std::string stray_first = "x,y\nunknown,1\n" + with_strays(30, 0, "").substr(4);
  const std::string commas = "a;b;c\n1;x;\n2;3,5;\n;1.500;1\n";
  for (const std::string& content :
       {"a,b\n1,2\n3,4\n5,6\n"s, late, "a\n1\n\n\n2\n3\n"s, strays, stray_first, commas}) {
    for (const std::string& bytes : {content, compressed(content)}) {
      const File file(bytes);
      const Table whole = read_csv(file.path());
      for (const std::size_t rows : {1U, 2U, 3U, 100U}) {
        const Table pieces = together(file.path(), rows);
        EXPECT_TRUE(same(pieces, whole)) << content << rows;
        for (std::size_t row = 0; row < whole.rows(); ++row) {
          EXPECT_EQ(pieces.line(row), whole.line(row));
        }
      }
    }
  }
  int begun = 0;
  together(File(late).path(), 2, &begun);
  EXPECT_EQ(begun,
            2);  // the 'low' in a column of numbers; the column that was empty costs nothing
}

TEST(CsvPieces, ErrorsAreThoseOfTheTable) {
  for (const std::string& content :
       {"a,b\n1,2\n3,inf\n5,6\n"s, "a,b\n1,2\n3,1e301\n5,6\n"s, "a;b\n1;2\n3,5;4.5\n5;6\n"s,
        "a,b\n1,2\n3\n"s, "a,b\n"s, "a;b\n;2\n;3.5\n1,5;3\n2;3\n"s}) {
    const File file(content);
    const std::string whole = message_of([&] { read_csv(file.path()); });
    EXPECT_NE(whole, "no error");
    for (const std::size_t rows : {1U, 2U, 100U}) {
      EXPECT_EQ(message_of([&] { together(file.path(), rows); }), whole);
    }
  }
}

TEST(CsvReader, TypesMustBeKnown) {
  const File file("a,b\n1,x\n");
  const auto open = [&](const CsvOptions& options) {
    return message_of([&] { CsvReader(file.path(), options); });
  };
  EXPECT_EQ(open({.columns = {{"a"}}}), file.path().string() +
                                            ", column 'a': declare it as numbers or text; in a "
                                            "file read in pieces this cannot be detected");
  EXPECT_EQ(open({}), "no error");
  Table piece;
  CsvReader reader(file.path(), {.text = {"b"}});
  EXPECT_TRUE(reader.read(piece, 10));
  EXPECT_EQ(piece.columns[0].numbers, Numbers{1});
  EXPECT_EQ(texts(piece.columns[1]), Texts{"x"});
  EXPECT_FALSE(reader.read(piece, 10));
  CsvReader numbers(file.path(), {});
  EXPECT_EQ(message_of([&] { numbers.read(piece, 1); }), "no error");
  EXPECT_EQ(piece.columns[1].stray.value, "x");
  CsvReader strict(file.path(), {.strict = true});
  EXPECT_EQ(message_of([&] { strict.read(piece, 1); }),
            file.path().string() + ", line 2, column 'b': 'x' is not a number");
}

TEST(CsvReader, AHeaderAlone) {
  const File file("a,b\n");
  CsvReader reader(file.path(), {});
  Table piece;
  EXPECT_FALSE(reader.read(piece, 10));
  EXPECT_EQ(piece.columns.size(), 2U);
  EXPECT_EQ(piece.rows(), 0U);
}

// Gives the content to `action` as a path that can be read once only.
template <class Action>
void with_pipe(std::string_view content, const Action& action) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::write(ends[1], content.data(), content.size()), static_cast<ssize_t>(content.size()));
  ::close(ends[1]);
  action("/dev/fd/" + std::to_string(ends[0]));
  ::close(ends[0]);
}

TEST(CsvReader, StandardInput) {
  const int before = ::dup(0);
  for (const std::string& content : {"x,y\n1,2\n3,4\n"s, compressed("x,y\n1,2\n3,4\n")}) {
    with_pipe(content, [](const std::string& path) {
      const int file = ::open(path.c_str(), O_RDONLY);
      ::dup2(file, 0);
      ::close(file);
      const Table table = read_pieces("-", {}, 1);
      EXPECT_EQ(table.columns[1].numbers, (Numbers{2, 4}));
      EXPECT_EQ(table.source, "standard input");
    });
  }
  ::dup2(before, 0);
  ::close(before);
}

TEST(Csv, StraysInAPipe) {
  const auto said = [](const std::string& content, const CsvOptions& options = {}) {
    std::string message;
    with_pipe(content, [&](const std::string& path) {
      message = message_of([&] { read_csv(path, options); });
      message = message.substr(std::min(message.size(), path.size()));
    });
    return message;
  };
  with_pipe(with_strays(100, 3, "unknown"), [](const std::string& path) {
    const Table table = read_csv(path);
    EXPECT_EQ(table.columns[0].stray.count, 3U);
    EXPECT_EQ(table.columns[0].stray.line, 102U);
  });
  const std::string too_many =
      ", line 22, column 'x': 'unknown' is text after cells that are numbers; declare the column "
      "as text, or use a file: this input cannot be read twice";
  EXPECT_EQ(said(with_strays(20, 3, "unknown")), too_many);
  EXPECT_EQ(said(with_strays(20, 1, "unknown"), {.plain = {"x"}}), too_many);
  EXPECT_EQ(said(with_strays(20, 1, "\"3,14\"")),
            ", line 22, column 'x': '3,14' has a decimal comma; use --decimal ,");
}

TEST(Csv, APipeIsReadOnce) {
  with_pipe("x,y\n1,a\n2,b\n",
            [](const std::string& path) { EXPECT_TRUE(read_csv(path).columns[1].is_text); });
  with_pipe("x,y\n1,2\n2,b\n", [](const std::string& path) {
    EXPECT_EQ(message_of([&] { read_csv(path); }),
              path +
                  ", line 3, column 'y': 'b' is text after cells that are numbers; declare the " +
                  "column as text, or use a file: this input cannot be read twice");
  });
}

// A random table as text, and what is to be read from it.
struct Written {
  std::string text;
  Table table;
  std::vector<WantedColumn> types;
  Texts text_names;
};

struct Format {
  char delimiter;
  std::string line_end;
};

bool needs_quotes(const std::string& text) {
  const csv::Cell cell{.begin = text.data(), .end = text.data() + text.size()};
  return text.find_first_of(",;\t|\"\n\r ") != std::string::npos || csv::is_empty(cell);
}

std::string written(const std::string& text) {
  if (!needs_quotes(text) && *rc::gen::arbitrary<bool>()) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

std::string written(double number) {
  std::array<char, 64> text{};
  const auto end =
      *rc::gen::arbitrary<bool>()
          ? std::to_chars(text.begin(), text.end(), number).ptr
          : std::to_chars(text.begin(), text.end(), number, std::chars_format::scientific, 17).ptr;
  const std::string result(text.begin(), end);
  return *rc::gen::element(result, " " + result + "\t ", "\"" + result + "\"");
}

double some_number() {
  constexpr double largest = 1e300;
  const auto any = rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                                [](std::uint64_t bits) { return std::bit_cast<double>(bits); });
  const auto allowed =
      rc::gen::suchThat(any, [](double value) { return std::abs(value) <= largest; });
  const auto short_ones = rc::gen::map(rc::gen::inRange(-1'000'000, 1'000'000),
                                       [](int value) { return value / 1000.0; });
  const auto edges = rc::gen::element(-0.0, 0.0, largest, -largest, 5e-324, -2.2e-308, 0.1, 1e22);
  return *rc::gen::oneOf(allowed, short_ones, edges);
}

std::string some_text() {
  const auto pieces = *rc::gen::nonEmpty(rc::gen::container<Texts>(
      rc::gen::element("a"s, "B"s, " "s, "\""s, ","s, ";"s, "\t"s, "|"s, "\n"s, "\r"s, "\r\n"s,
                       "\xC3\xA9"s, "\xE6\x97\xA5"s, "1"s, "-"s, "."s, "NA"s, "?"s, "\x7F"s)));
  std::string result;
  for (const std::string& piece : pieces) result += piece;
  return result;
}

// One cell, appended to the column.
std::string some_cell(Column& column, csv::Dictionary& dictionary, const Format& format) {
  if (*rc::gen::inRange(0, 6) == 0) {
    column.is_text ? column.codes.push_back(Column::empty_cell)
                   : column.numbers.push_back(std::nan(""));
    const std::string blank = format.delimiter == '\t' ? " " : " \t";
    return *rc::gen::element("\"\""s, "NA"s, "?"s, blank + "null"s, "n/a"s);
  }
  if (!column.is_text) {
    column.numbers.push_back(some_number());
    std::string text = written(column.numbers.back());
    if (format.delimiter == '\t') std::erase(text, '\t');
    return text;
  }
  const std::string value = some_text();
  column.codes.push_back(dictionary.code(value, column.values));
  return written(value);
}

void end_line(Written& result, const Format& format, std::size_t& line) {
  result.text += format.line_end;
  ++line;
  if (*rc::gen::inRange(0, 5) != 0) return;
  result.text += *rc::gen::element(""s, " "s) + format.line_end;
  ++line;
}

std::size_t line_feeds(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

Written some_table(const Format& format) {
  Written result;
  const auto columns = *rc::gen::inRange<std::size_t>(1, 6);
  const auto rows = *rc::gen::inRange<std::size_t>(1, 12);
  std::vector<csv::Dictionary> dictionaries(columns);
  std::size_t line = 1;
  const auto write = [&](std::size_t k, const std::string& cell) {
    if (k > 0) result.text += format.delimiter;
    result.text += cell;
    line += line_feeds(cell);
  };
  for (std::size_t k = 0; k < columns; ++k) {
    const bool is_text = *rc::gen::arbitrary<bool>();
    const std::string name = "x" + some_text() + std::to_string(k);
    result.table.columns.push_back({.name = name, .is_text = is_text});
    result.types.push_back({name, is_text ? CellType::text : CellType::number});
    if (is_text) result.text_names.push_back(name);
    write(k, written(name));
  }
  for (std::size_t r = 0; r < rows; ++r) {
    end_line(result, format, line);
    result.table.lines.push_back(static_cast<std::uint32_t>(line));
    for (std::size_t k = 0; k < columns; ++k) {
      write(k, some_cell(result.table.columns[k], dictionaries[k], format));
    }
  }
  if (*rc::gen::arbitrary<bool>()) end_line(result, format, line);
  return result;
}

std::string packed(const std::string& text) {
  const auto cut = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  return *rc::gen::arbitrary<bool>()
             ? compressed(text)
             : compressed(text.substr(0, cut)) + compressed(text.substr(cut));
}

RC_GTEST_PROP(CsvRoundTrip, WhatIsWrittenIsRead, ()) {
  const Format format{.delimiter = *rc::gen::elementOf(delimiters),
                      .line_end = *rc::gen::element("\n"s, "\r\n"s)};
  const Written expected = some_table(format);
  const File file(*rc::gen::arbitrary<bool>() ? packed(expected.text) : expected.text);
  CsvOptions options;
  options.delimiter = *rc::gen::element('\0', format.delimiter);
  options.block = *rc::gen::element<std::size_t>(1, 2, 3, 5, 7, 16, 64, 100, 1000, 1 << 20);
  options.text = expected.text_names;
  RC_ASSERT(same(read_csv(file.path(), options), expected.table));
  const auto piece = *rc::gen::inRange<std::size_t>(1, 15);
  RC_ASSERT(same(read_pieces(file.path(), options, piece), expected.table));
  options.columns = expected.types;
  RC_ASSERT(same(read_csv(file.path(), options), expected.table));
  RC_ASSERT(same(read_pieces(file.path(), options, piece), expected.table));
}

// Any bytes at all are read or refused in one line, and by every size of block alike.
RC_GTEST_PROP(CsvRoundTrip, AnyBytesAreReadOrRefused, ()) {
  const Texts parts = *rc::gen::container<Texts>(rc::gen::element(
      "1"s, "2.5"s, "x"s, ","s, ";"s, "\t"s, "\""s, "\n"s, "\r\n"s, "\r"s, " "s, "inf"s, "3,1"s,
      "\0"s, "\xFF"s, "\x1f\x8b"s, "PK\x03\x04"s, "\xEF\xBB\xBF"s));
  std::string content;
  for (const std::string& part : parts) content += part;
  const File file(content);
  Table whole;
  Table split;
  const std::string expected = message_of([&] { whole = read_csv(file.path()); });
  const auto block = *rc::gen::inRange<std::size_t>(1, 9);
  RC_ASSERT(message_of([&] { split = read_csv(file.path(), {.block = block}); }) == expected);
  RC_ASSERT(same(whole, split));
}

TEST(Message, ShortensBetweenCharacters) {
  std::string text(59, 'a');
  EXPECT_EQ(csv::shown(text + "\xC3\xA9"
                              "bc"),
            "'" + text + "...'");
  EXPECT_EQ(csv::shown("a\x01\x7F\t"), "'a\\x01\\x7f\\t'");
}

TEST(Table, FindAndValidate) {
  Table table{.columns = {{.name = "x", .numbers = {1, 2}}, {.name = "y", .numbers = {2, 4}}}};
  EXPECT_EQ(table.find("y"), &table.columns[1]);
  EXPECT_EQ(table.find("z"), nullptr);
  EXPECT_NO_THROW(table.validate());
  table.columns[1].name = "x";
  EXPECT_EQ(message_of([&] { table.validate(); }),
            "the table: columns 1 and 2 have the same name 'x'");
  table.columns[1] = {.name = "y", .numbers = {1}};
  EXPECT_EQ(message_of([&] { table.validate(); }),
            "the table, column 'y': has 1 rows, but column 'x' has 2");
  table.columns[1] = {.name = "", .numbers = {1, 2}};
  EXPECT_EQ(message_of([&] { table.validate(); }), "the table: column 2 has no name");
}

}  // namespace
}  // namespace dma
