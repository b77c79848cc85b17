// cli/csv_arguments.h: options of commands that read CSV files.
#pragma once

#include <dma/data/csv.h>

#include <string>

#include "cli/command_line.h"

namespace dma::cli {

struct CsvArguments {
  bool no_header = false;
  std::string delimiter;
  Decimal decimal = Decimal::detect;
  bool strict = false;

  CsvOptions options() const;
};

void add_csv_options(Command command, CsvArguments& arguments);

}  // namespace dma::cli
