// special/accuracy.h: what the functions of special/normal.h promise.
//
// Each number bounds the error in units of the type's machine epsilon, relative to the exact value
// (for a mean: relative to the sum of the absolute values of its two parts, since it crosses zero),
// for arguments |u| <= 40, slopes 1e-6 to 1 and probabilities 1e-300 to 1 - 1e-16, as long as the
// exact value is a normal number of the type. tests/special/normal_test.cc reads these constants.
#pragma once

namespace dma::special::accuracy {

inline constexpr double normal_pdf = 2;
inline constexpr double normal_cdf = 4;
inline constexpr double normal_log_cdf = 6;
inline constexpr double normal_mills = 4;
inline constexpr double normal_quantile = 4;
inline constexpr double minus_log1p = 4;
inline constexpr double normal_scaled_tail = 4;
inline constexpr double truncated_mean = 6;
inline constexpr double truncated_variance = 20;
inline constexpr double leaky_relu_mean = 5;
inline constexpr double leaky_relu_variance = 8;
inline constexpr double leaky_relu_gain = 5;
inline constexpr double leaky_relu_residual = 10;
inline constexpr double leaky_relu_inverse_mean = 8;
inline constexpr double leaky_relu_inverse_variance = 20;
// special/gamma.h, for arguments 1e-6 to 1e9; digamma relative to at least 1, since it crosses zero.
inline constexpr double digamma = 6;
inline constexpr double trigamma = 4;
inline constexpr double exp_beyond_tangent = 4;
inline constexpr double inverse_trigamma = 8;  // for arguments 1e-8 to 1e8
// Absolute, in units of epsilon times the largest of 1, a and b, for a, b 1e-2 to 1e6.
inline constexpr double incomplete_beta = 60;

// special/logistic.h, absolute: of a logarithm and its derivatives.
inline constexpr double expected_logistic = 1e-11;
// Relative, of the value, for means from -20 to 20.
inline constexpr double quick_expected_logistic = 1e-5;

}  // namespace dma::special::accuracy
