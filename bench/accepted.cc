#include "bench/accepted.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace dma::bench {
namespace {

bool of_sections(const std::string& name, std::span<const std::string> sections) {
  return std::any_of(sections.begin(), sections.end(),
                     [&](const std::string& section) { return name.rfind(section + "/", 0) == 0; });
}

// Four digits are kept: the rest is noise and would change in every commit.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

}  // namespace

bool worse(const Accepted& accepted, double now) {
  if (accepted.better == Better::smaller) return !(now <= accepted.value * (1 + allowed_worsening));
  return !(now >= accepted.value * (1 - allowed_worsening));
}

Check check(const AcceptedRatios& accepted, const Report& report,
            std::span<const std::string> sections) {
  Check result;
  for (const auto& entry : accepted) {
    const std::string& name = entry.first;
    const Accepted& before = entry.second;
    if (!of_sections(name, sections)) continue;
    const auto now = std::find_if(report.ratios.begin(), report.ratios.end(),
                                  [&](const RatioResult& ratio) { return ratio.name == name; });
    if (now == report.ratios.end()) {
      if (!report.quick) result.missing.push_back(name);
      continue;
    }
    ++result.compared;
    if (worse(before, now->value.median)) {
      result.worsened.push_back({name, before.value, now->value.median});
    }
  }
  return result;
}

std::filesystem::path accepted_file(const std::filesystem::path& folder,
                                    const std::string& machine) {
  return folder / (machine + ".json");
}

AcceptedRatios read_accepted(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + ": cannot be read");
  const auto json = nlohmann::json::parse(file);
  AcceptedRatios result;
  for (const auto& [name, ratio] : json.at("ratios").items()) {
    const bool smaller = ratio.at("better") == "smaller";
    result[name] = {smaller ? Better::smaller : Better::larger, ratio.at("value")};
  }
  return result;
}

void write_accepted(const std::filesystem::path& path, const Report& report,
                    std::span<const std::string> sections) {
  AcceptedRatios all;
  if (std::filesystem::exists(path)) all = read_accepted(path);
  std::erase_if(all, [&](const auto& entry) { return of_sections(entry.first, sections); });
  for (const RatioResult& ratio : report.ratios) {
    if (ratio.absolute || !std::isfinite(ratio.value.median)) continue;
    all[ratio.name] = {ratio.better, rounded(ratio.value.median)};
  }
  nlohmann::ordered_json json{{"machine", report.machine}};
  for (const auto& [name, ratio] : all) {
    json["ratios"][name] = {{"value", ratio.value},
                            {"better", ratio.better == Better::smaller ? "smaller" : "larger"}};
  }
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path);
  file << json.dump(2) << "\n";
  if (!file.flush()) throw std::runtime_error(path.string() + ": cannot be written");
}

}  // namespace dma::bench
