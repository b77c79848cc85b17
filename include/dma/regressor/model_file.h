// regressor/model_file.h: a model as a file in the safetensors layout.
//
// A JSON header, then raw little-endian arrays: any language can read it, and none executes it. The
// header's metadata holds the format version, a checksum of the whole file (CRC-32, its own eight digits
// taken as zeros) and the encoder, options and report as JSON text. Arrays, P weights, B batches:
//
//   member.M.prior.mean, member.M.prior.variance       [P]     F64
//   member.M.posterior.tau, member.M.posterior.rho     [P]     F64 or F32
//   member.M.noise_variance                            [outputs]
//   member.M.ledger.tau, member.M.ledger.rho           [B, P]  F64 or F32; in mode full
//   with a joint belief instead, one member per draw and target, R rows:
//   member.M.function.mean, .prior_precision           [P]     F64
//   member.M.function.factor                           [P (P + 1) / 2], unless it is in the form of messages, or
//   member.M.function.factor_left_out                  [0]: it follows from the ledger
//   member.M.function.centre                           [P]     if rows came or went since the fit, or others share it
//   member.M.function.ledger.inputs, .roots, .shifts   [R inputs], [R], [R]; of K classes [R inputs], [R K K], [R K]
//   member.M.noise_variance                            [1]
//   if the target is a class, instead of the noise variance:
//   member.M.log_sharpness, member.M.log_width         [1]
//   and if it is a count
//   member.M.log_dispersion, member.M.log_width        [1]
//   if the noise depends on the inputs:
//   member.M.log_noise...                              the same as for the function; a ledger only in the form of messages
//   member.M.log_noise.widths                          [3]     U64, of its layers
//   member.M.noise_inputs.scale, .low, .high           [2], [inputs + 1]
//   member.M.noise_inputs.log_mean                     [1]
//   batch_rows                                         [B]     U64
//   row_hashes                                         [R]     U64
//   row_weights                                        [R]     F64, or [0]: each row counts once
//   row_copies                                         [R]     U64, or [0]: each row stands for one of the table
//   held_out.T                                         [4 N]   F64, of each target: FitReport::held_out, row by row
//   probabilities_below.T                              [n]     F64, for each target; of rows that were not learnt
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include <dma/base/error.h>
#include <dma/regressor/model.h>

namespace dma {

// The metadata's "copies" names arrays that are the same as another and not in the file themselves: {"name": "of", ...}.
//
// "start" is Model::start, or null. A start itself has neither factor nor ledger, and its mean is 0.
//
// Older formats can be read too. Up to format 19 there is no "start". Up to format 18 there is no FeatureColumn::effects or value_weights. Up to format 17 no array or factor is left out; the encoder lacks decimal_comma,
// FeatureColumn::parts and others, the categories of a boolean and the bounds of targets; the options lack keep_ids and bounds;
// and there is no FitReport::held_out and no Model::probabilities_below. Up to format
// 16 every row counts once, there is no TargetColumn::reason or largest, and no
// amount or count. Up to format 15 every target is a number. Up to format 14 there is no Calibration::prior_precision and no NoiseInputs::log_mean.
// Up to format 13 a Calibration is one of the noise. Up to format 12 it has no of_one. Up to format 11 the encoder
// lacks FeatureColumn::reach. Up to format 9 a joint ledger holds the rows' gradients instead of their inputs and
// roots, and a joint belief always has a factor. In format 8 the options epochs, tolerance and patience mean something
// else (TrainingOptions). Format 7 holds the noise of a joint belief as JSON and lacks Certificate::joint and
// negative_messages. Format 6 also holds the messages to the noise networks, which nothing uses. Format 5 also holds
// how long the fit took. Format 4 lacks FitReport::stream and an unknown training NLL (null). Format 3 also lacks
// JointPosterior::centre. Format 2 also lacks FitReport::training, rows_changed and Metrics::coverage_curve.
inline constexpr int model_format_version = 20;
inline constexpr int oldest_model_format_version = 2;

struct SaveOptions {
  // Without what each batch taught: nothing can be forgotten, and old rows cannot be learnt again.
  bool slim = false;
  // With all that would otherwise be computed whenever the file is read, however large.
  bool fast_load = false;
};

// A file is at most ten times as large as its table, 8 bytes a cell, if that is more than 1 MB and the beliefs' ledgers are
// complete: factors beyond that are left out, and computed from the ledger when the file is read, which takes about as
// long as an epoch. An array of 256 bytes or more that is the same as another one is written once.
//
// Writes to a temporary file, flushes and renames it: there is always either the old or the new file, complete.
void write_model(const Model& model, const std::filesystem::path& path,
                 const SaveOptions& options = {});
Model read_model(const std::filesystem::path& path);

// The same for a file's bytes in memory.
std::vector<std::byte> model_bytes(const Model& model);
Model read_model(std::span<const std::byte> bytes);

}  // namespace dma
