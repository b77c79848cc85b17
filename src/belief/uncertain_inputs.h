// belief/uncertain_inputs.h: what is not known of a function's value because some of its inputs are not known.
//
// An input x_j ~ N(m_j, s_j^2), independent of the weights and of the other inputs, moves the outputs f by
//
//   d_j = (f(m + s_j e_j) - f(m - s_j e_j)) / 2,   Cov f grows by sum over j of d_j d_j'
//
// which is exact where f is straight. What moves the value of a row is not noise: it is taken into account wherever the noise
// is learnt, or rows are learnt given the noise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "belief/joint_backend.h"

namespace dma::detail {

// A function of so many rows of inputs: rows x outputs.
using ValuesOf = std::function<std::vector<double>(std::span<const double>, std::size_t)>;

// d_j of every row: one array of rows x outputs for each uncertain input.
std::vector<std::vector<double>> moves_by_inputs(const Architecture& architecture,
                                                 const ValuesOf& values,
                                                 std::span<const double> inputs, std::size_t rows);

// Of a network at these weights, to what is believed of its outputs.
void add_input_variance(const NetworkAt& network, std::span<const double> inputs, std::size_t rows,
                        OutputMoments& moments);
// To functions drawn at these weights, count x rows x outputs: what moves them is drawn too, and the same for rows whose
// input and deviation are the same.
void add_drawn_inputs(const NetworkAt& network, std::span<const double> inputs, std::size_t rows,
                      std::uint64_t seed, std::vector<double>& functions);
// Of a function with one output, to the variance of its noise, row by row.
void add_input_variance(const Architecture& architecture, const ValuesOf& values,
                        std::span<const double> inputs, std::vector<double>& noise);

}  // namespace dma::detail
