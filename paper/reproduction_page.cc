#include "paper/reproduction_page.h"

#include <dma/data/atomic_file.h>
#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "cli/bad_input.h"
#include "cli/page.h"

namespace dma::cli {
namespace {

using nlohmann::json;

json read_result(const std::filesystem::path& path) {
  std::ifstream file(path);
  try {
    return json::parse(file);
  } catch (const json::exception&) {
    throw BadInput(path.string() +
                   ": not a result of dma reproduce; delete it or run the experiment again");
  }
}

// Six digits are more than a chart shows, and take a third of the space.
void round_numbers(json& value) {
  if (value.is_structured()) {
    for (json& inner : value) round_numbers(inner);
  } else if (value.is_number_float()) {
    value = std::stod(fmt::format("{:.6g}", value.get<double>()));
  }
}

json results_in(const std::filesystem::path& folder,
                std::span<const experiments::Experiment> known) {
  json results = json::array();
  for (const experiments::Experiment& experiment : known) {
    const auto path = folder / (std::string(experiment.name) + ".json");
    if (!std::filesystem::exists(path)) continue;
    json result = read_result(path);
    result["experiment"] = experiment.name;
    result["about"] = experiment.about;
    if (result.contains("figures")) round_numbers(result["figures"]);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

void write_reproduction_page(const std::filesystem::path& folder,
                             std::span<const experiments::Experiment> known) {
  if (!has_page()) return;
  const json data{{"kind", "reproduction"},
                  {"version", DMA_VERSION},
                  {"experiments", results_in(folder, known)}};
  const auto path = folder / "index.html";
  AtomicFile file(path);
  file.write(page_with(data));
  file.commit();
}

}  // namespace dma::cli
