// paper/rivals.h: what others have published on the UCI sets, on the same splits.
//
// PBP and deep ensembles: table 1 of Lakshminarayanan et al. 2017; PBP's RMSE on kin8nm and naval to the
// digits of its authors' result files. MC dropout: Gal's repository, after its tuning was corrected. TAGI:
// from its authors' per-split result files, 40 epochs, noise tuned. Gaussian process: scikit-learn's, RBF and
// white noise, on the first five splits of the four small sets.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace dma::cli {

inline constexpr std::array rivals{"PBP", "TAGI", "MC dropout, tuned", "deep ensembles"};

struct UciSet {
  std::string_view name, file;
  std::array<double, 4> ll, rmse;  // in the order of rivals
  std::optional<double> process_ll = {}, process_rmse = {};
};

inline constexpr std::array<UciSet, 9> uci_sets{{
    {"boston", "boston", {-2.57, -2.56, -2.40, -2.41}, {3.01, 3.02, 2.90, 3.28}, -2.52, 2.90},
    {"concrete", "concrete", {-3.16, -3.19, -2.93, -3.06}, {5.67, 5.84, 4.82, 6.03}, -3.05, 5.26},
    {"energy", "energy", {-2.04, -1.87, -1.21, -1.38}, {1.80, 1.54, 0.54, 2.09}, -0.68, 0.47},
    {"kin8nm", "kin8nm", {0.90, 0.84, 1.14, 1.20}, {0.098, 0.104, 0.079, 0.09}},
    {"naval", "naval-propulsion-plant", {3.73, 3.65, 4.45, 5.63}, {0.006, 0.0063, 0.0007, 0.00}},
    {"power", "power-plant", {-2.84, -2.84, -2.80, -2.79}, {4.12, 4.14, 4.01, 4.11}},
    {"protein",
     "protein-tertiary-structure",
     {-2.97, -2.95, -2.87, -2.83},
     {4.73, 4.65, 4.27, 4.71}},
    {"wine", "wine-quality-red", {-0.97, -0.96, -0.93, -0.94}, {0.64, 0.631, 0.62, 0.64}},
    {"yacht", "yacht", {-1.63, -1.30, -1.25, -1.18}, {1.02, 0.86, 0.67, 1.58}, -0.15, 0.45},
}};

}  // namespace dma::cli
