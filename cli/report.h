// cli/report.h: models and scores as text and as JSON.
#pragma once

#include <dma/regressor/merging.h>
#include <dma/regressor/regressor.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dma::cli {

std::string bytes_text(std::size_t bytes);  // 27 MB
std::string list_text(const std::vector<std::size_t>& numbers, std::string_view between);
std::string coverage_text(const std::array<double, 4>& coverage);
// The most memory this process has held.
std::size_t peak_bytes();

// A number as people write it: at least so many significant digits, no exponent but for what is tiny or huge.
std::string number_text(double number, int digits = 4);

// One line of a table: a name, padded, and what it is.
void print_entry(std::string_view name, std::string_view value);

// 120, of which 8 are copies of others and count with them; by weight
std::string rows_text(const Model& model);
// A weight of rows: a whole number if it is one.
std::string count_text(double count);
nlohmann::ordered_json count_json(double count);

// The columns of a kind in a line, and those left out for the same reason in a line: names, as far as there is room, and what
// they have in common.
struct ColumnGroup {
  std::string kind, names;
};
std::vector<ColumnGroup> feature_groups(const Encoder& encoder);
// day: also month, weekday
std::vector<std::string> date_part_texts(const Encoder& encoder);
std::vector<std::string> left_out_texts(const Encoder& encoder);

// 104: it stopped by itself
std::string epochs_text(std::size_t epochs, Stopped stopped, const Model& model);
std::string epochs_text(const Model& model);  // of its fit

// The networks of a model in a line.
std::string network_text(const Model& model);
// Which shapes carry the weight and why, if there are several.
void print_shapes(const Model& model);
// The level whose interval holds a share of the rows that chance cannot explain; the worst, if there are several.
std::optional<std::size_t> level_that_is_off(const Metrics& metrics);
// Scores of rows that the members had not learnt.
void print_scores(const Model& model);
// Which rows say how wide calibrated intervals are.
std::string calibrated_text(const Model& model);
// 1f0c..., round 1; and how many parts learnt from it
std::string start_text(const SharedStart& start);
// Null: the model was not fitted from a start.
nlohmann::ordered_json start_json(const Model& model);
// The table after a fit.
void print_fit(const Model& model);

nlohmann::ordered_json coverage_json(const std::array<double, 4>& coverage);
nlohmann::ordered_json metrics_json(const Metrics& metrics);
// RMSE 2.42, NLL 2.3607, 95.7 % in the 95 % interval
std::string scores_text(const Metrics& metrics);
// log loss 0.41, 82.3 % right, ...
std::string class_scores_text(const ClassMetrics& metrics);
// survived: class, 2 of them (rows): 0 (549), 1 (342)
// price: amount, usually 210, a factor of 1.8 up or down
std::string target_text(const TargetColumn& target);
// What a model has learnt of a target's noise: a name and a value. Not of a class.
std::pair<std::string, std::string> noise_text(const Model& model, std::size_t target);
// Units per hidden layer, or linear.
std::string shape_text(const ShapeReport& shape);
std::string shape_text(const Architecture& network);
std::string share_text(const ShapeReport& shape);  // in the mixture
// How a score of the target is called: NLL, or of classes log loss.
std::string_view score_name(const Model& model);
// Which columns matter: one list per target, or with one target that list. Null if it is not known.
nlohmann::ordered_json importance_json(const Model& model,
                                       const std::vector<std::vector<ColumnShare>>& all);
nlohmann::ordered_json certificate_json(const Certificate& certificate);
// The keys of `dma fit --json` that depend only on the model.
nlohmann::ordered_json fit_json(const Model& model);
// One number for one target, a list for several.
nlohmann::ordered_json per_target(const std::vector<double>& values);
nlohmann::ordered_json distance_json(const Distance& distance);

}  // namespace dma::cli
