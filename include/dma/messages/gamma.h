// messages/gamma.h: Gamma(x; shape, rate) ~ x^(shape - 1) exp(-rate x), x > 0, as a belief about a precision.
//
// A message to a Gamma variable is carried by the two numbers of a Gaussian:
//
//   tau = shape - 1,   rho = rate
//
// so that products add and quotients subtract, the uniform message is {0, 0}, and rho = inf is the point mass at tau, as
// for a Gaussian. What differs is what may be sent: a rate of 0 beside a shape other than 1 is a message, though not
// a distribution.
#pragma once

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <dma/messages/gaussian.h>

namespace dma {

// What the two numbers of a message to a variable mean.
enum class MessageFamily : unsigned char { gaussian, gamma };

inline const char* name_of(MessageFamily family) {
  return family == MessageFamily::gaussian ? "Gaussian" : "Gamma";
}

struct Gamma {
  double shape;
  double rate;

  Gamma(double own_shape, double own_rate) : shape(own_shape), rate(own_rate) {}
  static Gamma from_message(Gaussian<double> message) {
    if (message.is_point()) return point(message.tau);
    return {message.tau + 1, message.rho};
  }

  // A known value; its shape and rate are infinite.
  static Gamma point(double value) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Gamma result{infinity, infinity};
    result.value_ = value;
    return result;
  }

  Gaussian<double> message() const {
    return is_point() ? Gaussian<double>::point(value_) : Gaussian<double>{shape - 1, rate};
  }

  bool is_point() const { return rate == std::numeric_limits<double>::infinity(); }
  bool is_proper() const { return shape > 0 && rate > 0 && !is_point(); }
  bool is_distribution() const { return is_proper() || (is_point() && value_ > 0); }

  double mean() const { return is_point() ? value_ : shape * reciprocal(rate); }
  double variance() const { return is_point() ? 0 : mean() * reciprocal(rate); }
  double stddev() const { return std::sqrt(variance()); }

  friend bool operator==(const Gamma&, const Gamma&) = default;

 private:
  double value_ = 0;  // of a point mass
};

// What a factor may send to a variable of this family, and no NaN.
inline bool is_valid_message(Gaussian<double> message, MessageFamily family) {
  if (family == MessageFamily::gaussian) return message.is_valid();
  if (message.is_point()) return message.tau > 0 && std::isfinite(message.tau);
  return message.tau > -1 && std::isfinite(message.tau) && message.rho >= 0;
}

// Whether a belief about a variable of this family can be normalised.
inline bool is_distribution(Gaussian<double> belief, MessageFamily family) {
  return family == MessageFamily::gaussian ? belief.is_distribution()
                                           : Gamma::from_message(belief).is_distribution();
}

}  // namespace dma
