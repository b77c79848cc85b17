#include "data/strict_json.h"

#include <set>

#include "data/message.h"

namespace dma::detail {
namespace {

// The parser's message quotes the file. "[json.exception.parse_error.101] parse error at ..." -> "parse error at ...".
std::string reason(const StrictJson::exception& error) {
  constexpr std::size_t longest = 200;
  std::string text = error.what();
  if (const auto tag = text.find("] "); tag != std::string::npos) text.erase(0, tag + 2);
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return csv::escaped(text);
}

}  // namespace

StrictJson parse_json(std::string_view text, int deepest) {
  // The parser would keep the last of two equal keys; here the second is an error.
  std::vector<std::set<std::string>> keys;
  const auto inspect = [&](int depth, StrictJson::parse_event_t event, StrictJson& parsed) {
    if (depth > deepest) {
      throw NotMeant("it is nested deeper than " + std::to_string(deepest) + " levels");
    }
    if (event == StrictJson::parse_event_t::object_start) keys.emplace_back();
    if (event == StrictJson::parse_event_t::object_end) keys.pop_back();
    if (event != StrictJson::parse_event_t::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    if (!keys.back().insert(key).second) {
      throw NotMeant("the key " + csv::shown(key) + " appears twice in one object");
    }
    return true;
  };
  try {
    return StrictJson::parse(text, inspect);
  } catch (const StrictJson::exception& error) {
    throw NotMeant(reason(error));
  }
}

}  // namespace dma::detail
