// paper/reproduction_page.h: the results of dma reproduce so far, as one page.
#pragma once

#include <filesystem>
#include <span>

#include "experiments/experiment.h"

namespace dma::cli {

// Writes folder/index.html from every NAME.json of these experiments in the folder, including earlier runs; does
// nothing if this dma was built without the page.
void write_reproduction_page(const std::filesystem::path& folder,
                             std::span<const experiments::Experiment> known);

}  // namespace dma::cli
