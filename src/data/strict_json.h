// data/strict_json.h: JSON without silent conversions.
//
// nlohmann::json turns -1 into 18446744073709551615, true into 1, 2.7 into 2, and an unknown word into the first
// enumerator. A model file may come from anywhere, so here each of these throws NotMeant.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dma::detail {

struct NotMeant : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T, class = void>
struct StrictSerializer : nlohmann::adl_serializer<T> {
  template <class Json>
  static void from_json(const Json& json, T& value) {
    if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
      if (!json.is_number_unsigned()) throw NotMeant("a count is " + seen(json));
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!json.is_number()) throw NotMeant("a number is " + seen(json));
    }
    nlohmann::adl_serializer<T>::from_json(json, value);
    if constexpr (std::is_enum_v<T>) {
      if (Json(value) != json) throw NotMeant("unknown choice: " + seen(json));
    }
  }

  // For types that are read at once, such as a map.
  template <class Json>
  static auto from_json(const Json& json)
      -> decltype(nlohmann::adl_serializer<T>::from_json(json)) {
    return nlohmann::adl_serializer<T>::from_json(json);
  }

 private:
  template <class Json>
  static std::string seen(const Json& json) {
    return json.is_number() || json.is_boolean() ? json.dump() : json.type_name();
  }
};

using StrictJson = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t,
                                        std::uint64_t, double, std::allocator, StrictSerializer>;

// Throws NotMeant, in one line that is not too long, if it is not JSON, is nested deeper than so many levels, or
// has a key twice in one object.
StrictJson parse_json(std::string_view text, int deepest);

}  // namespace dma::detail
