#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

namespace dma::cli {
namespace {

template <class Number>
bool read_all(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool begins_with_unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with('-')) return false;
  const auto commands = app.get_subcommands({});
  return std::none_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
    return command->get_name() == words.front();
  });
}

// CLI11's own messages are unclear: for --json=1 "was given a disallowed flag override", and for an unknown command
// only that a subcommand is required.
std::string explain(const CLI::App& app, const CLI::ParseError& error,
                    const std::vector<std::string>& words) {
  std::string text = error.what();
  const auto flag = text.find(" was given a disallowed flag override");
  if (flag != std::string::npos) return "--" + text.substr(0, flag) + " takes no value";
  if (!begins_with_unknown_command(app, words)) return text;
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) names += " " + command->get_name();
  return "unknown command '" + words.front() + "'; the commands are:" + names;
}

int misuse(const std::string& text) {
  fmt::print(stderr, "dma: {}\nRun with --help for more information.\n", text);
  return 2;
}

}  // namespace

bool read_whole(const std::string& text, std::uint64_t least, std::uint64_t most,
                std::uint64_t& number) {
  return read_all(text, number) && number >= least && number <= most;
}

bool read_real(const std::string& text, double least, double most, double& number) {
  return read_all(text, number) && std::isfinite(number) && number >= least && number <= most;
}

Option Option::required() const { return Option(option_->required()); }

Option Option::text(const std::string& value) const { return Option(option_->option_text(value)); }

Option Option::group(const std::string& heading) const { return Option(option_->group(heading)); }

Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }

Option Option::one_of(const std::vector<std::string>& words) const {
  return Option(option_->check(CLI::IsMember(words)));
}

Option Option::whole(std::uint64_t least, std::uint64_t most) const {
  const auto read = [least, most](std::string& text) -> std::string {
    std::uint64_t number = 0;
    if (!read_whole(text, least, most, number)) {
      return most == any_count
                 ? fmt::format("'{}' is not a whole number of at least {}", text, least)
                 : fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
    }
    text = std::to_string(number);  // 010 is ten
    return {};
  };
  return Option(option_->transform(
      CLI::Validator(read, fmt::format("{} to {}", least, most), "whole number")));
}

Option Option::real(double least, double most) const {
  const auto read = [least, most](std::string& text) -> std::string {
    double number = 0;
    if (read_real(text, least, most, number)) return {};
    return most == any_size ? fmt::format("'{}' is not a finite number of at least {}", text, least)
                            : fmt::format("'{}' is not a number from {} to {}", text, least, most);
  };
  return Option(option_->transform(
      CLI::Validator(read, fmt::format("{} to {}", least, most), "real number")));
}

Command Command::command(const std::string& name, const std::string& about) const {
  return Command(command_->add_subcommand(name, about));
}

template <class Value>
Option Command::option(const std::string& name, Value& value, const std::string& about) const {
  return Option(command_->add_option(name, value, about));
}

template Option Command::option(const std::string&, std::string&, const std::string&) const;
template Option Command::option(const std::string&, std::filesystem::path&,
                                const std::string&) const;
template Option Command::option(const std::string&, double&, const std::string&) const;
template Option Command::option(const std::string&, std::size_t&, const std::string&) const;
template Option Command::option(const std::string&, std::optional<std::size_t>&,
                                const std::string&) const;
template Option Command::option(const std::string&, std::vector<std::string>&,
                                const std::string&) const;

Option Command::parsed(const std::string& name, const std::function<void(const std::string&)>& take,
                       const std::string& about) const {
  return Option(command_->add_option_function<std::string>(name, take, about));
}

Option Command::flag(const std::string& name, bool& value, const std::string& about) const {
  return Option(command_->add_flag(name, value, about));
}

Option Command::flag_off(const std::string& name, bool& value, const std::string& about) const {
  return Option(command_->add_flag_callback(
      name, [&value] { value = false; }, about));
}

void Command::excludes_options_of(Command other) const {
  for (CLI::Option* option : other.command_->get_options()) command_->excludes(option);
}

void Command::footer(const std::string& text) const { command_->footer(text); }

void Command::run(const std::function<void()>& action) const { command_->callback(action); }

bool Command::is_followed_by_command() const { return !command_->get_subcommands().empty(); }

std::vector<Command::Words> Command::commands() const {
  std::vector<Words> all;
  for (const CLI::App* command : command_->get_subcommands({})) {
    Words words{command->get_name(), {}};
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) words.options += "--" + name + " ";
      for (const std::string& name : option->get_snames()) words.options += "-" + name + " ";
    }
    all.push_back(std::move(words));
  }
  return all;
}

void Command::require_only(const std::string& why, const std::vector<std::string>& allowed) const {
  for (const CLI::Option* option : command_->get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::count(allowed.begin(), allowed.end(), name) > 0) continue;
    throw UsageError(name + ": " + why);
  }
}

void add_commands(CLI::App& app, const std::vector<AddCommand>& commands) {
  // CLI11 would read a number in --json=1, and throw std::out_of_range for a long one.
  app.option_defaults()->disable_flag_override();
  for (const AddCommand add : commands) add(Command(&app));
}

int run_command_line(const std::vector<std::string>& words, const std::vector<AddCommand>& commands,
                     const Otherwise& otherwise) {
  // A file that exceeds the shell's size limit becomes an error instead of killing the process.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Predictions that say how sure they are, from tables and factor graphs.", "dma");
  app.set_version_flag("--version", DMA_VERSION);
  app.require_subcommand(1);
  app.footer(otherwise.help);
  add_commands(app, commands);
  try {
    if (otherwise.run != nullptr && begins_with_unknown_command(app, words)) otherwise.run(words);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return misuse(explain(app, error, words));
  } catch (const UsageError& error) {
    return misuse(error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "dma: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace dma::cli
