// tests/sanitized.h: whether a test runs under the address sanitizer, where everything takes ten times as long.
#pragma once

namespace dma::test {

// GCC says so by a macro, clang by a feature.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace dma::test
