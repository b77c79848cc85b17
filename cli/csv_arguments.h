// cli/csv_arguments.h: how a command's CSV files are written; the same options everywhere.
#pragma once

#include <dma/data/csv.h>

#include <string>

namespace CLI {
class App;
}

namespace dma::cli {

struct CsvArguments {
  bool no_header = false;
  std::string delimiter;

  CsvOptions options() const;
};

void add_csv_options(CLI::App& command, CsvArguments& arguments);

}  // namespace dma::cli
