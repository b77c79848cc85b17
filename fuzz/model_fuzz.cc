// The model file. Its checksum would stop every mutation, so the target repairs it, and the mutator also changes the
// description and keeps the header's length right. A model that loads must predict, forget, learn a row, and be the
// same file again when written.
#include <dma/belief/independent.h>
#include <dma/regressor/model_file.h>
#include <dma/regressor/regressor.h>

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz.h"

namespace dma::fuzz {
namespace {

constexpr std::size_t length_bytes = 8;
constexpr std::string_view before_checksum = R"({"__metadata__":{"checksum":")";
constexpr std::size_t checksum_at = length_bytes + before_checksum.size();
constexpr std::string_view before_description = R"("model":")";
constexpr std::size_t most_epochs = 3;  // of an update: a file may ask for any number

bool has_checksum(std::string_view file) {
  return file.size() >= checksum_at + 8 &&
         file.substr(length_bytes, before_checksum.size()) == before_checksum;
}

std::string sealed(std::string file) {
  if (!has_checksum(file)) return file;
  file.replace(checksum_at, 8, "00000000");
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08lx",
                crc32_z(0, reinterpret_cast<const Bytef*>(file.data()), file.size()));
  return file.replace(checksum_at, 8, digits);
}

struct Parts {
  std::string header, data;
};

bool take_apart(std::string_view file, Parts& parts) {
  std::uint64_t length = 0;
  if (file.size() < length_bytes) return false;
  std::memcpy(&length, file.data(), length_bytes);
  if (length > file.size() - length_bytes) return false;
  parts.header = file.substr(length_bytes, length);
  parts.data = file.substr(length_bytes + length);
  return true;
}

std::string put_together(Parts parts) {
  while (parts.header.size() > 1 && parts.header.back() == ' ') parts.header.pop_back();
  parts.header.resize((parts.header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = parts.header.size();
  std::string file(length_bytes, '\0');
  std::memcpy(file.data(), &length, length_bytes);
  return sealed(file + parts.header + parts.data);
}

void mutate(std::string& text, std::size_t most) {
  const std::size_t size = text.size();
  text.resize(std::max(size, most));
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
}

// The description is JSON in a string of JSON.
bool mutate_description(std::string& header, std::size_t most) {
  const auto begin = header.find(before_description);
  if (begin == std::string::npos) return false;
  const auto first = begin + before_description.size();
  std::string plain;
  std::size_t at = first;
  for (; at < header.size() && header[at] != '"'; ++at) {
    if (header[at] == '\\' && at + 1 < header.size()) ++at;
    plain += header[at];
  }
  mutate(plain, plain.size() + most);
  std::string escaped;
  for (const char c : plain) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  header.replace(first, at - first, escaped);
  return true;
}

std::string mutated(std::string_view file, std::size_t most, unsigned choice) {
  Parts parts;
  std::string plain(file);
  const std::size_t room = most > file.size() ? (most - file.size()) / 2 : 0;
  if (choice % 8 == 0 || !take_apart(file, parts)) {
    mutate(plain, most);
    return sealed(plain);
  }
  if (choice % 8 == 1) {
    mutate(parts.data, parts.data.size() + room);
  } else if (choice % 8 < 4) {
    mutate(parts.header, parts.header.size() + room);
  } else {
    mutate_description(parts.header, room);
  }
  return put_together(parts);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A changed model must load again.
void require_loadable(const Regressor& model) {
  try {
    const auto bytes = model.to_bytes();
    require(Regressor::from_bytes(bytes).to_bytes() == bytes, "what is written is read");
  } catch (const ModelError& error) {
    require(false, error.what());
  }
}

// A change succeeds, or throws one of the exceptions that regressor.h names.
template <class Change>
void change(Regressor model, const Change& make) {
  const auto before = model.to_bytes();
  try {
    make(model);
    return require_loadable(model);
  } catch (const NetworkError& error) {
    require_one_line(error.what());
  } catch (const DataError& error) {
    require_one_line(error.what());
  } catch (const NoPrediction& error) {
    require_one_line(error.what());
  } catch (const NumericalBreakdown& error) {
    require_one_line(error.what());
  }
  require(model.to_bytes() == before, "a change that was not made leaves the model as it was");
}

Column column_of(const FeatureColumn& feature) {
  if (!feature.text) return {.name = feature.name, .numbers = {feature.mean}};
  const bool none = feature.categories.empty();
  return {.name = feature.name,
          .codes = {0},
          .values = {none ? "2024-02-29" : feature.categories.front()},
          .is_text = true};
}

// A row like those that the model was fitted to.
Table row_for(const Encoder& encoder) {
  Table table;
  for (const FeatureColumn& feature : encoder.features) table.columns.push_back(column_of(feature));
  for (const TargetColumn& target : encoder.targets) {
    table.columns.push_back({.name = target.name, .numbers = {target.mean + target.deviation}});
  }
  return table;
}

// Weights may be so large that predictions overflow, and messages so different that they cannot be added up; that must
// throw, not return a number.
void predict(const Regressor& model, const std::vector<double>& inputs) {
  try {
    const auto predicted = model.predict_encoded(inputs, 1, 1);
    require(predicted.size() == model.encoder().targets.size(), "every target is predicted");
    for (const Predicted& one : predicted) {
      require(std::isfinite(one.mean) && std::isfinite(one.epistemic_std), "a belief is finite");
      require(std::isfinite(one.noise_std) && std::isfinite(one.noise_spread), "noise is finite");
    }
  } catch (const NoPrediction& error) {
    require_one_line(error.what());
  } catch (const NetworkError& error) {
    require_one_line(error.what());
  }
}

void use(const Regressor& model) {
  const std::vector<double> inputs(model.encoder().width(), 0.5);
  require(model.encoder().input_names().size() == inputs.size(), "every input has a name");
  predict(model, inputs);
  require_loadable(model);
  if (!model.model().batch_rows.empty()) {
    change(model, [](Regressor& own) { own.forget_batch(0); });
  }
  if (model.model().options.epochs <= most_epochs) {
    change(model, [&](Regressor& own) { own.update(row_for(own.encoder())); });
  }
}

// Whether the bytes are a model.
bool load(std::string_view file) {
  try {
    use(Regressor::from_bytes(bytes_of(file)));
    return true;
  } catch (const ModelError& error) {
    require_one_line(error.what());
    return false;
  }
}

}  // namespace
}  // namespace dma::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  const std::string result = dma::fuzz::mutated(dma::fuzz::text_of(data, size), most, seed >> 8U);
  const std::size_t length = std::min(result.size(), most);
  std::memcpy(data, result.data(), length);
  return length;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dma::fuzz;
  const std::string file(text_of(data, size));
  const std::string whole = sealed(file);
  load(whole);
  if (whole != file) require(!load(file), "a wrong checksum is noticed");
  return 0;
}
