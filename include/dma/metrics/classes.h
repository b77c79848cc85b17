// metrics/classes.h: how good probabilities of classes are.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace dma {

// Rows whose most probable class has a probability in one of equal ranges, from 0 to 1.
struct ReliabilityBin {
  double rows = 0;        // their weight; without weights their number
  double confidence = 0;  // mean probability of the most probable class
  double accuracy = 0;    // share of rows that are of that class
};

struct ClassMetrics {
  static constexpr std::size_t bins = 15;

  std::size_t rows = 0, classes = 0;
  double weight = 0;    // of these rows together; without weights their number
  double log_loss = 0;  // mean of -log of the class's probability
  double brier = 0;     // mean of sum_k (p_k - 1[k = class])^2: 0 to 2
  double accuracy = 0;  // share of rows whose class is the most probable
  // The mean, over the classes that have rows, of the share of their rows that are recognised.
  double balanced_accuracy = 0;
  // Expected calibration error (Guo et al. 2017): mean over the rows of |confidence - accuracy| of their bin.
  double calibration_error = 0;
  // Two classes, both with rows, all scored together: the probability that a row of class 1 has a higher p_1 than one of class 0; ties count
  // half.
  std::optional<double> auc = {};
  std::array<ReliabilityBin, bins> reliability{};
  // The weight of the rows by class and most probable class: classes x classes.
  std::vector<double> confusion = {};

  // Of one class.
  std::span<const double> confusion_of(std::size_t own) const {
    return std::span(confusion).subspan(own * classes, classes);
  }
};

// Targets are numbers of classes, probabilities rows x classes. Of equally probable classes the first counts as the most
// probable. Weights say how much each row counts; without them, all count the same. Throws std::invalid_argument if a size
// is wrong or 0, a target is no class, a weight is not positive, or a row's probabilities are not finite, negative or do
// not sum to 1.
ClassMetrics score_classes(std::span<const double> targets, std::span<const double> probabilities,
                           std::span<const double> weights = {});

// The metrics of all rows together, of the same classes; but for the area under the curve, which is not known then.
ClassMetrics merged(const ClassMetrics& one, const ClassMetrics& other);

}  // namespace dma
