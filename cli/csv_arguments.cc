#include "csv_arguments.h"

#include <CLI/CLI.hpp>

namespace dma::cli {

CsvOptions CsvArguments::options() const {
  CsvOptions options;
  options.header = !no_header;
  if (!delimiter.empty()) options.delimiter = delimiter == "tab" ? '\t' : delimiter.front();
  return options;
}

void add_csv_options(CLI::App& command, CsvArguments& arguments) {
  command.add_flag("--no-header", arguments.no_header,
                   "the first line is data: columns are c1, c2, ...");
  command
      .add_option("--delimiter", arguments.delimiter,
                  "what separates cells: one of , ; | tab (default: found out)")
      ->check(CLI::IsMember({",", ";", "|", "tab"}))
      ->option_text("CHAR");
}

}  // namespace dma::cli
