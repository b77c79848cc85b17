// regressor/shapes.h: a mixture of networks of several shapes for one target (belief/joint_shape.h).
//
// All shapes search side by side. Rows that a member has not seen say how much each shape counts (stacking); those that
// hardly do are dropped, the others learn all rows.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <dma/belief/belief.h>
#include <dma/metrics/predicted.h>
#include <dma/regressor/regressor.h>

namespace dma::detail {

class CheckpointFile;

// What one fit has to do for a target.
struct ShapesTask {
  const RegressorOptions& options;
  std::vector<Architecture> shapes;
  std::size_t target = 0, targets = 1;
  std::shared_ptr<const Likelihood> likelihood = {};  // where learning starts
  TrainingOptions training = {};                      // of the members, once they are fitted
  std::vector<std::size_t> batch_rows = {};
  std::chrono::steady_clock::time_point started = {};
};

struct FittedShapes {
  std::vector<Member> members;      // those of the heaviest shape first
  std::vector<FitResult> results;   // one per member
  std::vector<ShapeReport> shapes;  // likelihoods of the standardised target
  Calibration calibration;
  // Every row that was held out, predicted by members that had not learnt it; a NaN for the others. Standardised.
  std::vector<Predicted> held_out;
};

// Default shapes for a table of so many rows, from shallow to deep. Columns often matter by steps, so that some shapes have
// the ramps of `like`. Classes are often on two sides of a plane, so that they have one without hidden units; the deepest of
// numbers tells them apart no better (docs/classes.md). With many rows shapes have fewer units, so that an epoch stays
// affordable; one that would be like a smaller one is left out.
std::vector<Architecture> default_shapes(const Architecture& like, bool classes, std::size_t rows);

// Networks of each shape for a table of so many rows.
std::size_t default_members(std::size_t rows);

// Places that a target takes in a checkpoint.
std::size_t places_of_target(std::size_t shapes, std::size_t members);

// One target per row. The checkpoint may be null.
FittedShapes fit_shapes(const ShapesTask& task, const Data& rows, const OnProgress& progress,
                        CheckpointFile* checkpoint);

}  // namespace dma::detail
