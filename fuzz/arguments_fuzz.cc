// The command line: one word per line. It is parsed but not run. Every accepted number must be inside the range that
// its option documents.
#include <CLI/CLI.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "cli/commands.h"
#include "fuzz.h"
#include "paper/commands.h"

namespace dma::fuzz {
namespace {

struct Documented {
  long double least, most;
  bool whole;
};

constexpr long double any = std::numeric_limits<std::uint64_t>::max();
constexpr long double finite = std::numeric_limits<double>::max();

// Numeric options of every command; an option that is not here must not take a number.
const std::map<std::string, Documented>& documented() {
  static const std::map<std::string, Documented> ranges{
      {"fit --slope", {0, 1, false}},
      {"fit --ensemble", {1, 1000, true}},
      {"fit --epochs", {1, 1000000, true}},
      {"fit --time", {0, finite, false}},
      {"fit --tolerance", {0, finite, false}},
      {"fit --patience", {0, 1000000, true}},
      {"fit --batch-size", {1, any, true}},
      {"fit --seed", {0, any, true}},
      {"fit --threads", {0, 1024, true}},
      {"fit --holdout", {0, 0.9, false}},
      {"fit --checkpoint-every", {0, finite, false}},
      {"predict --level", {0.001, 0.999999, false}},
      {"predict --counts", {0, 10000, true}},
      {"predict --threads", {0, 1024, true}},
      {"evaluate --threads", {0, 1024, true}},
      {"forget --batch", {0, any, true}},
      {"sample --seed", {0, any, true}},
      {"infer --sweeps", {1, 1000000, true}},
      {"infer --tolerance", {0, 1, false}},
      {"infer --acceleration", {0, 100, true}},
      {"infer --damping", {0, 0.999, false}},
      {"benchmark --splits", {0, any, true}},
      {"benchmark --threads", {0, 1024, true}},
      {"benchmark --epochs", {0, 1000000, true}},
      {"gap --seed", {0, any, true}},
      {"gap --threads", {0, 1024, true}},
      {"reproduce --tasks", {1, any, true}}};
  return ranges;
}

void require_inside(const std::string& text, const Documented& range) {
  char* end = nullptr;
  const long double number = std::strtold(text.c_str(), &end);
  require(!text.empty() && *end == '\0', "an option's number is a number");
  require(std::isfinite(number), "an option's number is finite");
  // The bounds are doubles, and so are the values of real options.
  const long double kept = range.whole ? number : static_cast<double>(number);
  require(kept >= static_cast<double>(range.least) || range.least == kept, "not below its range");
  require(kept <= range.most || kept <= static_cast<double>(range.most), "not above its range");
  require(!range.whole || (text.find_first_not_of("0123456789") == std::string::npos &&
                           (text.size() == 1 || text[0] != '0')),
          "a count has digits only, and is not octal");
}

// --hidden and --noise are lists or words too.
void require_list(const std::string& text) {
  if (text == "auto") return;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    require(part.find_first_not_of("0123456789") == std::string::npos, "units have digits only");
    const long double units = std::strtold(part.c_str(), nullptr);
    require(units >= 1 && units <= 1000000, "a layer has some units, and not too many");
  }
}

void require_noise(const std::string& text) {
  if (text == "auto" || text == "input" || text == "constant") return;
  const long double noise = std::strtold(text.c_str(), nullptr);
  require(std::isfinite(static_cast<double>(noise)) && noise > 0, "noise is positive and finite");
}

// What prepare takes are fit's options.
std::string documented_name(const CLI::App& command, const CLI::Option& option) {
  const std::string name = command.get_name();
  return (name == "prepare" ? "fit" : name) + " " + option.get_name();
}

void require_sound(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const auto known = documented().find(documented_name(command, *option));
    for (const std::string& text : option->results()) {
      if (known != documented().end()) require_inside(text, known->second);
      if (option->get_name() == "--hidden") require_list(text);
      if (option->get_name() == "--noise") require_noise(text);
    }
  }
  for (const CLI::App* below : command.get_subcommands()) require_sound(*below);
}

void require_documented(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    const bool number =
        type.rfind("UINT", 0) == 0 || type.rfind("INT", 0) == 0 || type.rfind("FLOAT", 0) == 0;
    const std::string name = documented_name(command, *option);
    if (number && documented().count(name) == 0) {
      std::fprintf(stderr, "fuzz: no range is documented for %s\n", name.c_str());
      std::abort();
    }
  }
  for (const CLI::App* below : command.get_subcommands({})) require_documented(*below);
}

struct Parsed {};  // thrown instead of running a command

CLI::App& command_line() {
  static const auto app = [] {
    auto result = std::make_unique<CLI::App>("", "dma");
    result->require_subcommand(1);
    cli::add_commands(*result, cli::own_commands);
    cli::add_commands(*result, {cli::add_benchmark, cli::add_reproduce});
    require_documented(*result);
    result->parse_complete_callback([] { throw Parsed(); });
    return result;
  }();
  return *app;
}

}  // namespace
}  // namespace dma::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dma::fuzz;
  namespace cli = dma::cli;
  std::istringstream in{std::string(text_of(data, size))};
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word) && words.size() < 16;)
    words.insert(words.begin(), word);
  CLI::App& app = command_line();
  try {
    app.parse(words);
  } catch (const Parsed&) {
    require_sound(app);
  } catch (const CLI::ParseError&) {
  } catch (const cli::UsageError&) {
  }
  return 0;
}
