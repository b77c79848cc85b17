#include "bench/report.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace dma::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string section_of(const std::string& name) { return name.substr(0, name.find('/')); }

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : "never";
}

std::string text(const Target& target) {
  if (std::isfinite(target.least) && std::isfinite(target.most)) {
    return fmt::format("{:g} to {:g}", target.least, target.most);
  }
  return std::isfinite(target.least) ? fmt::format(">= {:g}", target.least)
                                     : fmt::format("<= {:g}", target.most);
}

std::string line(const std::string& name, const Spread& value, const std::string& rest) {
  return fmt::format("  {:<68} {:>9}  {:>9} .. {:<9} {}\n", name, number(value.median),
                     number(value.low), number(value.high), rest);
}

std::string ratio_line(const RatioResult& ratio) {
  std::string rest;
  if (ratio.target) {
    rest = fmt::format("{}: {}", text(*ratio.target),
                       ratio.target->met(ratio.value.median) ? "met" : "NOT MET");
  }
  return line(ratio.name, ratio.value, rest);
}

Json spread_json(const Spread& value) {
  return {{"median", value.median}, {"low", value.low}, {"high", value.high}};
}

Json ratio_json(const RatioResult& ratio) {
  Json entry = spread_json(ratio.value);
  entry["better"] = ratio.better == Better::smaller ? "smaller" : "larger";
  if (!ratio.target) return entry;
  if (std::isfinite(ratio.target->least)) entry["at_least"] = ratio.target->least;
  if (std::isfinite(ratio.target->most)) entry["at_most"] = ratio.target->most;
  entry["met"] = ratio.target->met(ratio.value.median);
  return entry;
}

}  // namespace

std::string table(const Report& report) {
  std::string result =
      fmt::format("{}{}: median, quartiles\n", report.machine, report.quick ? ", a quick run" : "");
  for (const std::string& note : report.notes) result += "note: " + note + "\n";
  std::string section;
  for (const auto& [name, measured] : report.results.all()) {
    if (section != section_of(name)) result += "\n" + (section = section_of(name)) + "\n";
    result += line(name, spread(measured.values), measured.unit);
  }
  result += "\nratios\n";
  for (const RatioResult& ratio : report.ratios) result += ratio_line(ratio);
  return result;
}

std::string json(const Report& report) {
  Json result{{"machine", report.machine}, {"quick", report.quick}, {"notes", report.notes}};
  for (const auto& [name, measured] : report.results.all()) {
    Json entry = spread_json(spread(measured.values));
    entry["unit"] = measured.unit;
    entry["repetitions"] = measured.values.size();
    result["measurements"][name] = std::move(entry);
  }
  for (const RatioResult& ratio : report.ratios) result["ratios"][ratio.name] = ratio_json(ratio);
  return result.dump() + "\n";
}

std::string text(const Check& check) {
  std::string result;
  for (const Worsened& ratio : check.worsened) {
    result +=
        fmt::format("worse: {} was {:.4g}, is {:.4g}\n", ratio.name, ratio.accepted, ratio.now);
  }
  for (const std::string& name : check.missing) result += "not measured: " + name + "\n";
  if (check.passed()) {
    return fmt::format("{} ratios, none worse by more than {:g} %\n", check.compared,
                       100 * allowed_worsening);
  }
  if (check.compared == 0) result += "nothing was checked: no accepted ratio was measured\n";
  return result;
}

}  // namespace dma::bench
