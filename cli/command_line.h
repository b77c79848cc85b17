// cli/command_line.h: the options and action of a command. Only command_line.cc includes CLI11, whose headers take four
// seconds to compile.
//
//   Command command = app.command("predict", "predict with intervals");
//   command.option("model", arguments->model, "model file").required().text("MODEL");
//   command.option("--threads", arguments->threads, "0: all cores").whole(0, most_threads).text("N");
//   command.run([arguments] { run(*arguments); });
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dma::cli {

inline constexpr std::uint64_t any_count = std::numeric_limits<std::uint64_t>::max();
inline constexpr double any_size = std::numeric_limits<double>::max();
// Each thread is one of the operating system.
inline constexpr std::uint64_t most_threads = 1024;
inline constexpr std::uint64_t most_epochs = 1000000;
inline constexpr std::uint64_t most_units = 1000000;  // of one hidden layer

// The command line is wrong: exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// False unless the text is such a number, finite and in the range. Whole numbers: decimal digits only.
bool read_whole(const std::string& text, std::uint64_t least, std::uint64_t most,
                std::uint64_t& number);
bool read_real(const std::string& text, double least, double most, double& number);

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option text(const std::string& value) const;  // name of its value in --help
  Option group(const std::string& heading) const;
  Option excludes(Option other) const;
  Option one_of(const std::vector<std::string>& words) const;
  // CLI11 turns -1 and anything larger into 18446744073709551615, reads 010 as 8, and finds NaN inside every range.
  // These accept only the number as written, finite and in the range.
  Option whole(std::uint64_t least, std::uint64_t most) const;
  Option real(double least, double most) const;

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App* command) : command_(command) {}

  Command command(const std::string& name, const std::string& about) const;

  // Value: std::string, std::filesystem::path, double, std::size_t, std::optional<std::size_t>,
  // std::vector<std::string>.
  template <class Value>
  Option option(const std::string& name, Value& value, const std::string& about) const;
  // `take` parses the value.
  Option parsed(const std::string& name, const std::function<void(const std::string&)>& take,
                const std::string& about) const;
  Option flag(const std::string& name, bool& value, const std::string& about) const;
  // The flag makes the value false.
  Option flag_off(const std::string& name, bool& value, const std::string& about) const;

  template <class Value>
  Option choice(const std::string& name, Value& value,
                const std::vector<std::pair<std::string, Value>>& values,
                const std::string& about) const {
    std::vector<std::string> words;
    for (const auto& [word, unused] : values) words.push_back(word);
    std::sort(words.begin(), words.end());
    const auto take = [&value, values](const std::string& chosen) {
      for (const auto& [word, one] : values) {
        if (word == chosen) value = one;
      }
    };
    return parsed(name, take, about).one_of(words);
  }

  // No option of the other command may be combined with this command.
  void excludes_options_of(Command other) const;
  void footer(const std::string& text) const;
  void run(const std::function<void()>& action) const;
  bool is_followed_by_command() const;

  struct Words {
    std::string name, options;  // --first --second -o
  };
  std::vector<Words> commands() const;
  // Throws UsageError if an option was given, now that the words are parsed, that is not one of these.
  void require_only(const std::string& why, const std::vector<std::string>& allowed) const;

 private:
  CLI::App* command_;
};

// run: called if the first word is not a command; if it returns, the word is refused. help: the end of --help.
struct Otherwise {
  void (*run)(const std::vector<std::string>& words) = nullptr;
  std::string help = {};
};

// Runs one of these commands. Returns the exit status: 0 success, 1 failure (bad data, bad file), 2 wrong command line.
using AddCommand = void (*)(Command app);
int run_command_line(const std::vector<std::string>& words, const std::vector<AddCommand>& commands,
                     const Otherwise& otherwise = {});

// Adds the commands, for parsing without running.
void add_commands(CLI::App& app, const std::vector<AddCommand>& commands);

}  // namespace dma::cli
