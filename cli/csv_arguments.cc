#include "cli/csv_arguments.h"

namespace dma::cli {

CsvOptions CsvArguments::options() const {
  CsvOptions options;
  options.header = !no_header;
  if (!delimiter.empty()) options.delimiter = delimiter == "tab" ? '\t' : delimiter.front();
  options.decimal = decimal;
  options.strict = strict;
  return options;
}

void add_csv_options(Command command, CsvArguments& arguments) {
  command.flag("--no-header", arguments.no_header,
               "the first line is data; columns are called c1, c2, ...");
  command
      .option("--delimiter", arguments.delimiter,
              "cell separator: one of , ; | tab (default: detected)")
      .one_of({",", ";", "|", "tab"})
      .text("CHAR");
  command
      .choice<Decimal>("--decimal", arguments.decimal,
                       {{",", Decimal::comma}, {".", Decimal::point}},
                       "decimal mark of the numbers: , or . (default: that of the model; a fit "
                       "finds it)")
      .text("CHAR");
  command.flag("--strict", arguments.strict,
               "refuse text in a column of numbers (default: it counts as an empty cell)");
}

}  // namespace dma::cli
