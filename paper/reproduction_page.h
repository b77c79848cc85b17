// paper/reproduction_page.h: what dma reproduce found so far, as one page.
#pragma once

#include <filesystem>
#include <span>

#include "experiments/experiment.h"

namespace dma::cli {

// Writes folder/index.html from every NAME.json of these experiments that is in the folder, also from
// earlier runs; nothing if this dma was built without the page.
void write_reproduction_page(const std::filesystem::path& folder,
                             std::span<const experiments::Experiment> known);

}  // namespace dma::cli
