// cli/graph_page.h: the data of the page about inference on a graph (web/README.md).
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "cli/graph_json.h"

namespace dma::cli {

// {kind, version, model, about, facts, graph, variables, messages, moving, trouble, figures}.
nlohmann::json graph_page(const GraphFile& file, const Beliefs& beliefs,
                          const InferenceOptions& options, const std::string& name);

}  // namespace dma::cli
