// Which theorem covers which message (App. B, tab:bnn:theorems), read from the factors themselves.
#include <dma/factors/conformance.h>
#include <dma/factors/factors.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "validation/experiment.h"
#include "validation/verdicts.h"

namespace dma::validation {
namespace {

using nlohmann::json;

constexpr CheckOptions check_options{.random_inputs = 2000, .seed = 1};

// One message of a built-in factor.
struct Covered {
  std::string factor;
  std::string density;
  std::size_t edge;
  EdgeInfo info;
  bool conforms;
};

// A row of the paper, and the built-in factors that it covers.
struct PaperRow {
  std::string_view factor;
  std::string_view direction;  // fwd: edge 0; bwd: the other edges; both
  bool proper;
  std::string_view theorem;
  std::vector<std::string> built_in;
};

const std::vector<PaperRow>& paper_rows() {
  static const std::vector<PaperRow> rows{
      {"Gaussian prior", "both", true, "Cor. dirac-exact (exact)", {"prior"}},
      {"Gaussian likelihood", "both", true, "exact (conjugate)", {"observation"}},
      {"Linear / copy", "both", true, "Cor. dirac-exact", {"sum", "equality"}},
      {"Product (z = x y)", "fwd", true, "Thm. dma-master", {"product"}},
      {"Product (z = x y)", "bwd", false, "Thm. product-bwd-bound", {"product"}},
      {"Leaky ReLU (slope > 0)", "fwd", true, "Thm. dma-master", {"leaky_relu, slope > 0"}},
      {"Leaky ReLU (slope > 0)", "bwd", true, "Thm. dma-master", {"leaky_relu, slope > 0"}},
      {"Standard ReLU (slope = 0)", "fwd", true, "Thm. dma-master", {"leaky_relu, slope 0"}},
      {"Standard ReLU (slope = 0)",
       "bwd",
       false,
       "Rem. relu-improper (no bound derived)",
       {"leaky_relu, slope 0"}}};
  return rows;
}

bool speaks_of(const PaperRow& row, const Covered& message) {
  const auto& names = row.built_in;
  if (std::find(names.begin(), names.end(), message.factor) == names.end()) return false;
  return row.direction == "both" || (row.direction == "fwd") == (message.edge == 0);
}

bool agree(const PaperRow& row, const Covered& message) {
  return row.proper == message.info.proper && row.theorem == message.info.theorem;
}

template <Factor F>
void append(std::vector<Covered>& rows, const std::string& name, const F& factor) {
  const FactorInfo& info = factor.info();
  CheckOptions options = check_options;
  options.random_inputs = std::min(options.random_inputs, usual_random_inputs<F>());
  const bool conforms = check_factor(factor, options).passed();
  for (std::size_t edge = 0; edge < info.edges.size(); ++edge) {
    rows.push_back({name, std::string(info.density), edge, info.edges[edge], conforms});
  }
}

template <Factor F>
void append(std::vector<Covered>& rows, const F& factor) {
  append(rows, std::string(factor.info().name), factor);
}

void append(std::vector<Covered>& rows, const WeightedSum&) {
  append(rows, "sum", WeightedSum{{1.5, -0.5}, 0.3});
}

void append(std::vector<Covered>& rows, const LeakyRelu&) {
  append(rows, "leaky_relu, slope > 0", LeakyRelu{0.1});
  append(rows, "leaky_relu, slope 0", LeakyRelu{0});
}

std::vector<Covered> covered_messages() {
  std::vector<Covered> rows;
  std::apply([&](const auto&... factor) { (append(rows, factor), ...); }, BuiltinFactors{});
  return rows;
}

json to_json(const Covered& message) {
  json row{{"table", "library"},
           {"factor", message.factor},
           {"density", message.density},
           {"to", message.info.name},
           {"proper", message.info.proper},
           {"theorem", message.info.theorem},
           {"conformance", message.conforms ? "passed" : "failed"},
           {"paper_row", nullptr},
           {"agrees", nullptr}};
  const auto& paper = paper_rows();
  for (std::size_t i = 0; i < paper.size(); ++i) {
    if (!speaks_of(paper[i], message)) continue;
    row["paper_row"] = i;
    row["agrees"] = agree(paper[i], message);
  }
  return row;
}

bool agree(const PaperRow& row, const std::vector<Covered>& messages) {
  bool found = false;
  for (const Covered& message : messages) {
    if (!speaks_of(row, message)) continue;
    if (!agree(row, message)) return false;
    found = true;
  }
  return found;
}

}  // namespace

json coverage() {
  const auto messages = covered_messages();
  json rows = json::array();
  std::size_t agreeing = 0;
  for (const PaperRow& row : paper_rows()) {
    const bool agrees = agree(row, messages);
    agreeing += agrees ? 1 : 0;
    rows.push_back({{"table", "paper"},
                    {"factor", row.factor},
                    {"direction", row.direction},
                    {"proper", row.proper},
                    {"theorem", row.theorem},
                    {"built_in", row.built_in},
                    {"agrees", agrees}});
  }
  for (const Covered& message : messages) rows.push_back(to_json(message));
  const bool conforming = std::all_of(messages.begin(), messages.end(),
                                      [](const Covered& message) { return message.conforms; });
  return {
      {"settings",
       {{"conformance_inputs", check_options.random_inputs},
        {"seed", check_options.seed},
        {"proper",
         "whether the exact message can be normalised. The paper's caption says the DMA message, "
         "but that one is always a valid Gaussian, even for a product"},
        {"agrees", "proper and theorem are the same for every message the paper's row covers"}}},
      {"summary",
       {{"rows", messages.size()},
        {"paper_rows", paper_rows().size()},
        {"paper_rows_agreeing", agreeing},
        {"conformance", conforming ? "passed" : "failed"}}},
      {"verdicts",
       {verdict("rows of the paper's table that the factors agree with",
                std::to_string(agreeing) + " of " + std::to_string(paper_rows().size()),
                std::to_string(paper_rows().size()), agrees_if(agreeing == paper_rows().size())),
        verdict("factors that keep their promises under random messages",
                conforming ? "all" : "not all", "", Agreement::beyond)}},
      {"rows", std::move(rows)}};
}

}  // namespace dma::validation
