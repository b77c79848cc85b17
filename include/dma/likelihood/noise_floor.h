// likelihood/noise_floor.h: the least noise that is believed.
#pragma once

namespace dma {

// Of a standardised target: what is fitted to the last digit still has so much noise, and reports say when
// it was reached.
inline constexpr double least_noise_variance = 1e-8;

}  // namespace dma
