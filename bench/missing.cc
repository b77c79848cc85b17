#include "bench/sections.h"
namespace dma::bench {
void add_quality(Plan&) {}
void add_commands(Plan&) {}
void add_honesty(Plan&) {}
void add_threads(Plan&) {}
}  // namespace dma::bench
