// experiments/figures.h: the page's figures of one task (web/README.md names the lists).
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string>

#include "experiments/method.h"

namespace dma::experiments {

// Mean, two deviations to either side and the true function, over the task's grid.
void append_band(const std::string& method, const Fit& fit, const Task& task,
                 nlohmann::json& figures);

void append_points(const Rows& rows, nlohmann::json& figures);

void append_convergence(const std::string& method, std::span<const double> train_nll,
                        nlohmann::json& figures);

void append_weights(const std::string& method, const Posterior<double>& posterior,
                    nlohmann::json& figures);

// Coverage curves like those of Scores, for one task and every output.
void append_coverage(const std::string& method, const Fit& fit, const Task& task,
                     nlohmann::json& figures);

}  // namespace dma::experiments
