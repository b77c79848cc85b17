// graph/saved_beliefs.h: beliefs of a graph in a file, from which inference goes on another day.
//
//   save_beliefs(beliefs, "league.safetensors");
//   auto beliefs = load_beliefs("league.safetensors", g);
//   beliefs = g.infer(options, schedule, beliefs);
//
// The graph is not in the file: build it again, then add what is new. Like every file of dma it is written whole or not
// at all, and has a checksum.
#pragma once

#include <filesystem>

#include <dma/graph/graph.h>

namespace dma {

// Throws FileError.
void save_beliefs(const Beliefs& beliefs, const std::filesystem::path& path);

// Throws ModelError if the file cannot be read, or if its beliefs are not of this graph as it is, or as it was before it
// grew or forgot.
Beliefs load_beliefs(const std::filesystem::path& path, const Graph& graph);

}  // namespace dma
