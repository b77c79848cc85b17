// A model file that is not what it was when it was written, by accident or on purpose: it is refused with a reason, and
// nothing in it makes the reader take more memory than the file accounts for.
#include <dma/regressor/model_file.h>
#include <dma/regressor/regressor.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "counting_new.h"

namespace dma {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t length_bytes = 8;
constexpr std::size_t checksum_at = length_bytes + 29;  // {"__metadata__":{"checksum":"
// Messages, names, what the C++ library keeps for an exception.
constexpr std::size_t small_change = 4096;
// Size of the parser's tree for a header that is valid JSON and nothing else, measured by Nonsense below.
constexpr std::size_t tree_bytes_per_byte = 48;

Table small_table() {
  return {
      .columns = {{.name = "x", .numbers = {1, 2, 3, 4}}, {.name = "y", .numbers = {1, 3, 2, 5}}}};
}

std::string file_of(const RegressorOptions& options) {
  const auto bytes = Regressor::fit(small_table(), options).to_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The smallest models: one input, one hidden unit.
std::string independent_file() {
  static const std::string file = file_of({.target = "y",
                                           .hidden = {1},
                                           .belief = BeliefKind::independent,
                                           .epochs = 1,
                                           .batch_size = 2,
                                           .ensemble = 1,
                                           .threads = 1});
  return file;
}

std::string joint_file() {
  static const std::string file = file_of({.target = "y",
                                           .hidden = {1},
                                           .slope = 0.1,
                                           .belief = BeliefKind::joint,
                                           .noise = 0.1,
                                           .epochs = 1,
                                           .ensemble = 1,
                                           .threads = 1});
  return file;
}

// A model with a network for the noise.
std::string noise_file() {
  static const std::string file = file_of({.target = "y",
                                           .hidden = {1},
                                           .slope = 0.1,
                                           .belief = BeliefKind::joint,
                                           .epochs = 20,
                                           .ensemble = 1,
                                           .threads = 1});
  return file;
}

Regressor load(const std::string& file) {
  return Regressor::from_bytes(std::as_bytes(std::span(file)));
}

std::vector<double> predictions(const Regressor& model) {
  std::vector<double> numbers;
  for (const Predicted& one : model.predict(small_table(), 1)) {
    numbers.push_back(one.mean);
    numbers.push_back(one.stddev());
  }
  return numbers;
}

struct Loading {
  std::string refusal;  // empty: it was loaded
  std::size_t bytes = 0;
  std::size_t largest = 0;
};

Loading loading_of(const std::string& file) {
  const std::size_t before = test::bytes_in_use;
  test::most_bytes_in_use = before;
  test::largest_allocation = 0;
  Loading loading;
  try {
    load(file);
  } catch (const ModelError& error) {
    loading.bytes = test::most_bytes_in_use - before;
    loading.largest = test::largest_allocation;
    loading.refusal = error.what();
    EXPECT_NE(loading.refusal, "");
    EXPECT_EQ(loading.refusal.find('\n'), std::string::npos) << loading.refusal;
    EXPECT_LT(loading.refusal.size(), 500U);
  }
  return loading;
}

// Bytes went wrong on the way: whoever changed them did not mend the checksum.
void expect_noticed(const std::string& altered, const std::string& file, const std::string& what) {
  const Loading loading = loading_of(altered);
  if (loading.refusal.empty()) {
    const Regressor model = load(altered);
    EXPECT_EQ(model.to_bytes(), load(file).to_bytes()) << what;
    EXPECT_EQ(predictions(model), predictions(load(file))) << what;
    return;
  }
  EXPECT_LE(loading.bytes, 2 * altered.size() + small_change) << what << ": " << loading.refusal;
}

// The file with a right checksum: what another program might have written.
std::string sealed(std::string file) {
  file.replace(checksum_at, 8, "00000000");
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08lx",
                crc32_z(0, reinterpret_cast<const Bytef*>(file.data()), file.size()));
  return file.replace(checksum_at, 8, digits);
}

struct Parts {
  std::string header, data;
};

Parts parts_of(const std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), length_bytes);
  return {file.substr(length_bytes, length), file.substr(length_bytes + length)};
}

std::string put_together(const Parts& parts) {
  const std::uint64_t length = parts.header.size();
  std::string file(length_bytes, '\0');
  std::memcpy(file.data(), &length, length_bytes);
  return sealed(file + parts.header + parts.data);
}

std::string with_header(const std::string& file, const std::function<void(Json&)>& edit) {
  Parts parts = parts_of(file);
  Json header = Json::parse(parts.header);
  edit(header);
  parts.header = header.dump();
  return put_together(parts);
}

std::string with_description(const std::string& file, const std::function<void(Json&)>& edit) {
  return with_header(file, [&](Json& header) {
    Json description = Json::parse(header["__metadata__"]["model"].get<std::string>());
    edit(description);
    header["__metadata__"]["model"] = description.dump();
  });
}

std::string with_text(const std::string& file, const std::string& from, const std::string& to) {
  Parts parts = parts_of(file);
  const auto at = parts.header.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  parts.header.replace(at, from.size(), to);
  return put_together(parts);
}

// The file with one number of an array changed.
template <class T>
std::string with_number(const std::string& file, const std::string& name, std::size_t k, T value) {
  Parts parts = parts_of(file);
  Json header = Json::parse(parts.header);
  const Json copies = Json::parse(header["__metadata__"]["copies"].get<std::string>());
  const std::size_t begin = header[copies.value(name, name)]["data_offsets"][0];
  std::memcpy(parts.data.data() + begin + k * sizeof(T), &value, sizeof(T));
  return put_together(parts);
}

// The reader was lied to by somebody who knows the format.
void expect_refused(const std::string& altered, const std::string& reason) {
  const Loading loading = loading_of(altered);
  EXPECT_NE(loading.refusal.find(reason), std::string::npos)
      << "said: '" << loading.refusal << "', wanted: '" << reason << "'";
  EXPECT_LE(loading.bytes, tree_bytes_per_byte * altered.size() + small_change) << loading.refusal;
  EXPECT_LE(loading.largest, tree_bytes_per_byte * altered.size()) << loading.refusal;
}

TEST(AlteredFile, TheCountersCount) {
  test::most_bytes_in_use = test::bytes_in_use.load();
  const std::size_t before = test::bytes_in_use;
  // A compiler may leave out a new-expression whose memory nobody reads, but no call of the function itself.
  ::operator delete(::operator new(100000));
  EXPECT_GE(test::most_bytes_in_use - before, 100000U);
  EXPECT_EQ(test::bytes_in_use, before);
}

TEST(AlteredFile, EveryChangedByteIsNoticed) {
  for (const std::string& file : {independent_file(), joint_file()}) {
    std::string altered = file;
    for (std::size_t k = 0; k < file.size(); ++k) {
      const auto right = static_cast<unsigned char>(file[k]);
      std::vector<unsigned> others{0x00, 0xff};
      for (unsigned bit = 0; bit < 8; ++bit) others.push_back(right ^ (1U << bit));
      for (const unsigned other : others) {
        if (other == right) continue;
        altered[k] = static_cast<char>(other);
        expect_noticed(altered, file, "byte " + std::to_string(k));
      }
      altered[k] = file[k];
    }
    EXPECT_EQ(altered, file);
    EXPECT_EQ(loading_of(file).refusal, "");
  }
}

TEST(AlteredFile, RandomDamageIsNoticed) {
  std::mt19937_64 random(1);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  for (int n = 0; n < 10000; ++n) {
    const std::string file = n % 3 == 0   ? independent_file()
                             : n % 3 == 1 ? joint_file()
                                          : noise_file();
    std::string altered = file;
    for (std::size_t k = 2 + below(30); k > 0; --k) {
      altered[below(altered.size())] = static_cast<char>(random());
    }
    const std::size_t at = below(altered.size());
    if (n % 4 == 0) altered.resize(at);
    if (n % 4 == 1) altered.erase(at, 1 + below(20));
    if (n % 4 == 2) altered.insert(at, 1 + below(20), 'x');
    expect_noticed(altered, file, "damage " + std::to_string(n));
  }
}

// With the checksum corrected, changed bytes reach the parsers: what still loads is a model,
// which predicts and is the same file again.
TEST(AlteredFile, EveryChangedByteBehindTheChecksumIsRefusedOrAModel) {
  std::size_t loaded = 0;
  for (const std::string& file : {independent_file(), joint_file()}) {
    for (std::size_t k = 0; k < file.size(); ++k) {
      if (k >= checksum_at && k < checksum_at + 8) continue;
      std::string altered = file;
      altered[k] = static_cast<char>(altered[k] ^ (1 << (k % 8)));
      try {
        const Regressor model = load(sealed(altered));
        ++loaded;
        EXPECT_EQ(model.predict_encoded(std::vector<double>(model.encoder().width()), 1, 1).size(),
                  model.encoder().targets.size());
        const auto bytes = model.to_bytes();
        EXPECT_EQ(Regressor::from_bytes(bytes).to_bytes(), bytes) << k;
      } catch (const ModelError&) {
      }
    }
  }
  EXPECT_GT(loaded, 100U);
}

TEST(LyingHeader, ShapesThatNoFileHolds) {
  const std::string file = joint_file();
  const auto shape = [&](const std::string& array, const std::vector<std::uint64_t>& lengths) {
    return with_header(file, [&](Json& header) { header[array]["shape"] = lengths; });
  };
  constexpr std::uint64_t huge = std::uint64_t{1} << 60;
  const std::string reason = "does not fit the file";
  expect_refused(shape("row_hashes", {huge}), reason);
  expect_refused(shape("row_hashes", {huge, huge}), reason);
  expect_refused(shape("row_hashes", {2 * huge + 4}), reason);       // times 8: 32, as announced
  expect_refused(shape("row_hashes", {4, 8 * huge, 2, 4}), reason);  // the product is 2^64 times 2
  expect_refused(shape("member.0.function.mean", {huge}), reason);
  // Eight bytes each and no bytes together.
  expect_refused(
      with_header(
          file,
          [](Json& header) {
            header["empty"] = {{"dtype", "F64"}, {"shape", {2 * huge}}, {"data_offsets", {0, 0}}};
          }),
      reason);
}

TEST(LyingHeader, NumbersThatAreNoCounts) {
  const std::string file = joint_file();
  const auto edit = [&](const Json& shape, const Json& offsets) {
    return with_header(file, [&](Json& header) {
      header["row_hashes"]["shape"] = shape;
      header["row_hashes"]["data_offsets"] = offsets;
    });
  };
  const Json offsets = Json::parse(parts_of(file).header)["row_hashes"]["data_offsets"];
  expect_refused(edit({-4}, offsets), "its header cannot be read: a count is -4");
  expect_refused(edit({4.0}, offsets), "a count is 4.0");
  expect_refused(edit({1e300}, offsets), "a count is 1e+300");
  expect_refused(edit({true}, offsets), "a count is true");
  expect_refused(edit({"4"}, offsets), "a count is string");
  expect_refused(edit(4, offsets), "its header cannot be read");
  expect_refused(edit({4}, {-8, 24}), "a count is -8");
  expect_refused(edit({4}, {8}), "its header cannot be read");
  expect_refused(edit({4}, "0"), "its header cannot be read");
}

TEST(LyingHeader, ArraysThatOverlapOrLeaveGaps) {
  const std::string file = joint_file();
  const auto move = [&](const std::string& array, std::int64_t by) {
    return with_header(file, [&](Json& header) {
      for (Json& offset : header[array]["data_offsets"]) {
        offset = offset.get<std::int64_t>() + by;
      }
    });
  };
  expect_refused(move("row_hashes", 8), "overlap or leave gaps");
  expect_refused(move("member.0.function.mean", -8), "overlap or leave gaps");
  expect_refused(move("batch_rows", 1 << 30), "does not fit the file");
  expect_refused(with_header(file,
                             [](Json& header) {
                               Json& offsets = header["row_hashes"]["data_offsets"];
                               offsets = {offsets[1], offsets[0]};
                             }),
                 "does not fit the file");
  expect_refused(with_header(file, [](Json& header) { header.erase("batch_rows"); }),
                 "overlap or leave gaps");
  Parts longer = parts_of(file);
  longer.data += "12345678";
  expect_refused(put_together(longer), "has bytes that belong to no array");
  // Any number of members could be made of the same bytes.
  expect_refused(with_header(file,
                             [](Json& header) {
                               header["member.1.function.mean"] = header["member.0.function.mean"];
                             }),
                 "overlap or leave gaps");
}

TEST(LyingHeader, LengthsOfTheHeader) {
  for (const std::uint64_t length :
       {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 40,
        std::uint64_t{joint_file().size() - 7}}) {
    std::string file = joint_file();
    std::memcpy(file.data(), &length, length_bytes);
    expect_refused(sealed(file), "announce a header of " + std::to_string(length));
  }
  for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{40}}) {
    std::string file = joint_file();
    std::memcpy(file.data(), &length, length_bytes);
    expect_refused(sealed(file), "its header cannot be read");
  }
}

TEST(LyingHeader, TypesThatAreOthers) {
  const std::string file = joint_file();
  const auto type = [&](const std::string& array, const Json& name) {
    return with_header(file, [&](Json& header) { header[array]["dtype"] = name; });
  };
  expect_refused(type("member.0.function.mean", "F32"), "does not fit the file");
  expect_refused(type("member.0.function.mean", "U64"), "type or shape");
  expect_refused(type("member.0.function.mean", "BF16"), "does not fit the file");
  expect_refused(type("row_hashes", "F64"), "type or shape");
  expect_refused(type("row_hashes", 64), "its header cannot be read");
}

TEST(LyingHeader, NestedTooDeep) {
  const std::string file = joint_file();
  const std::string open(1000000, '[');
  expect_refused(with_text(file, ",\"batch_rows\"", ",\"deep\":" + open), "nested deeper than 3");
  expect_refused(with_text(file, ",\"batch_rows\"",
                           ",\"deep\":" + open + std::string(open.size(), ']') + ",\"batch_rows\""),
                 "nested deeper than 3");
  const auto description = [&](const std::string& text) {
    return with_header(file, [&](Json& header) { header["__metadata__"]["model"] = text; });
  };
  expect_refused(description(open), "nested deeper than 16");
  std::string objects;
  for (int n = 0; n < 100000; ++n) objects += "{\"a\":";
  expect_refused(description(objects), "nested deeper than 16");
}

// What the parser makes of a header of nothing but its smallest values: the largest trees for its bytes.
TEST(LyingHeader, Nonsense) {
  const std::string file = joint_file();
  const auto expect_bounded = [&](const std::string& filler) {
    expect_refused(with_text(file, ",\"batch_rows\"", ",\"x\":" + filler + ",\"batch_rows\""), "");
  };
  std::string numbers = "[0";
  for (int n = 0; n < 300000; ++n) numbers += ",0";
  expect_bounded(numbers + "]");
  std::string keys = "{\"\":0";
  for (int n = 0; n < 50000; ++n) keys += ",\"" + std::to_string(n) + "\":0";
  expect_bounded(keys + "}");
  std::string lists = "[[]";
  for (int n = 0; n < 100000; ++n) lists += ",[]";
  expect_bounded(lists + "]");
}

TEST(LyingHeader, KeysThatStandTwice) {
  const std::string file = joint_file();
  expect_refused(with_text(file, ",\"batch_rows\":", ",\"row_hashes\":{},\"batch_rows\":"),
                 "the key 'row_hashes' appears twice in one object");
  expect_refused(with_text(file, "\\\"seed\\\":", "\\\"epochs\\\":1,\\\"seed\\\":"),
                 "the key 'epochs' appears twice in one object");
}

TEST(LyingDescription, WidthsWhoseWeightsCannotBeCounted) {
  const auto widths = [](const std::string& file, const std::vector<std::uint64_t>& lengths) {
    return with_description(
        file, [&](Json& json) { json["members"][0]["architecture"]["widths"] = lengths; });
  };
  constexpr std::uint64_t huge = std::uint64_t{1} << 60;
  for (const std::string& file : {joint_file(), independent_file()}) {
    expect_refused(widths(file, {1, huge, 1}), "more weights than any memory holds");
    expect_refused(widths(file, {1, huge, huge, 1}), "more weights than any memory holds");
    // 3 h + 1 = 4 modulo 2^64: as many weights as the file has.
    expect_refused(widths(file, {1, 6148914691236517206U, 1}),
                   "more weights than any memory holds");
    expect_refused(widths(file, {1, ~std::uint64_t{0}, 1}), "more weights than any memory holds");
    expect_refused(widths(file, {1, 1000, 1}), "type or shape");
    expect_refused(widths(file, {1, 0, 1}), "widths[1] is 0");
    expect_refused(widths(file, {1}), "widths");
    expect_refused(widths(file, {}), "widths");
  }
}

TEST(LyingDescription, CountsThatDoNotFit) {
  const auto option = [](const std::string& file, const char* name, const Json& value) {
    return with_description(file, [&](Json& json) { json["options"][name] = value; });
  };
  for (const std::string& file : {joint_file(), independent_file()}) {
    expect_refused(option(file, "ensemble", 0), "has no members");
    expect_refused(option(file, "ensemble", -1), "a count is -1");
    expect_refused(option(file, "ensemble", 1.5), "a count is 1.5");
    expect_refused(option(file, "epochs", 1e300), "a count is 1e+300");
    expect_refused(option(file, "noise", -1), "the noise must be positive");
    expect_refused(option(file, "slope", true), "a number is true");
    expect_refused(option(file, "rule", "quadratic"), "unknown choice: string");
    expect_refused(option(file, "ledger", 3), "unknown choice: 3");
  }
  const auto member = [](const char* name, const Json& value) {
    return with_description(joint_file(), [&](Json& json) { json["members"][0][name] = value; });
  };
  expect_refused(member("target", 1), "a member has no target");
  expect_refused(member("target", ~std::uint64_t{0}), "a member has no target");
  expect_refused(member("target", -1), "a count is -1");
  expect_refused(member("weight", 0), "a member has no weight");
  expect_refused(member("weight", 0.5), "the weights of its members do not sum to 1");
  const std::string nobody =
      with_description(joint_file(), [](Json& json) { json["members"] = Json::array(); });
  expect_refused(nobody, "the weights of its members do not sum to 1");
  const std::string one_of_two = with_description(joint_file(), [](Json& json) {
    json["encoder"]["targets"].push_back(json["encoder"]["targets"][0]);
  });
  expect_refused(one_of_two, "the weights of its members do not sum to 1");
  const std::string aimless = with_description(
      joint_file(), [](Json& json) { json["encoder"]["targets"] = Json::array(); });
  expect_refused(aimless, "has no target");
}

TEST(LyingDescription, BatchesWhoseRowsOverflow) {
  const std::string file = independent_file();  // two batches of two
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  std::string altered = with_number(file, "batch_rows", 0, half + 2);
  altered = with_number(altered, "batch_rows", 1, half + 2);
  expect_refused(altered, "its batches do not match its rows");
  expect_refused(with_number(file, "batch_rows", 0, std::uint64_t{3}), "its batches do not match");
}

TEST(LyingDescription, AReportOfSomethingElse) {
  const auto report = [](const char* name, const Json& value) {
    return with_description(independent_file(), [&](Json& json) { json["report"][name] = value; });
  };
  EXPECT_EQ(loading_of(report("rows", 4)).refusal, "");
  expect_refused(report("rows", 3), "its report does not match its rows");
  expect_refused(report("batch_size", 0),
                 "its report does not match its rows");  // found by fuzzing
  expect_refused(report("weights", 5), "its report does not match its network");
  expect_refused(report("layers", {1, 2, 1}), "its report does not match its network");
  expect_refused(report("noise_std", Json::array()), "its report does not match its targets");
  expect_refused(report("noise_at_floor", Json::array()), "its report does not match its targets");
  expect_refused(report("cavity", Json::array()), "its report does not match its targets");
}

TEST(LyingDescription, HeldOutRowsThatAreNoNumbers) {
  const std::string file = independent_file();
  EXPECT_EQ(loading_of(with_number(file, "held_out.0", 0, 3.0)).refusal, "");
  expect_refused(with_number(file, "held_out.0", 0, std::nan("")),
                 "its held-out rows are not valid");
}

TEST(LyingDescription, ScalesThatAreNone) {
  const auto encoder = [](const char* list, const char* name, const Json& value) {
    return with_description(joint_file(),
                            [&](Json& json) { json["encoder"][list][0][name] = value; });
  };
  expect_refused(encoder("targets", "deviation", 0.0),
                 "the standard deviation of a target is not positive");
  expect_refused(encoder("targets", "deviation", -1.0),
                 "the standard deviation of a target is not positive");
  expect_refused(encoder("features", "deviation", -1.0),
                 "the standard deviation of a feature is negative");
  expect_refused(encoder("features", "deviation", 0.0), "its encoder does not match");
  expect_refused(encoder("features", "reach", -1.0), "the reach of a feature is negative");
  expect_refused(encoder("features", "mean", nullptr), "a number is null");
  expect_refused(encoder("features", "kind", "colour"), "unknown choice: string");
  expect_refused(encoder("features", "mean", Json::array()), "a number is array");
  expect_refused(
      with_text(joint_file(), "\\\"deviation\\\":", "\\\"deviation\\\":1e999,\\\"old\\\":"),
      "its description cannot be read");
}

TEST(LyingArrays, NumbersThatAreNoBelief) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::string noise = noise_file();
  for (const double bad : {nan, inf, -inf}) {
    for (const std::string name :
         {"member.0.function.ledger.inputs", "member.0.function.ledger.roots",
          "member.0.function.ledger.shifts"}) {
      expect_refused(with_number(noise, name, 1, bad), "a message of the ledger is not finite");
    }
  }
  // The function has fewer weights than rows, its noise more.
  const std::string function = "member.0.function.";
  const std::string log_noise = "member.0.log_noise.";
  for (const double bad : {nan, inf, -inf}) {
    for (const std::string& name :
         {function + "mean", function + "factor", function + "prior_precision", log_noise + "mean",
          log_noise + "prior_precision"}) {
      expect_refused(with_number(noise, name, 1, bad), "a joint posterior is not finite");
    }
    expect_refused(with_number(noise, log_noise + "ledger.inputs", 1, bad),
                   "a message of the ledger is not finite");
  }
  for (const double bad : {0.0, -1.0}) {
    for (const std::string& name :
         {function + "factor", function + "prior_precision", log_noise + "prior_precision"}) {
      expect_refused(with_number(noise, name, 0, bad), "not a proper Gaussian");
    }
  }
  expect_refused(with_number(noise, log_noise + "prior_precision", 0, 1234.5),
                 "the units of a layer have different prior precisions");
  const std::string file = independent_file();
  for (const double bad : {nan, inf, -inf}) {
    expect_refused(with_number(file, "member.0.posterior.tau", 1, bad), "not a proper Gaussian");
    expect_refused(with_number(file, "member.0.posterior.rho", 1, bad), "not a proper Gaussian");
    expect_refused(with_number(file, "member.0.prior.mean", 1, bad), "is not finite");
    expect_refused(with_number(file, "member.0.prior.variance", 1, bad), "prior variance 1");
    expect_refused(with_number(file, "member.0.noise_variance", 0, bad), "noise variance");
    expect_refused(with_number(file, "member.0.ledger.tau", 1, bad), "ledger is not finite");
    expect_refused(with_number(file, "member.0.ledger.rho", 1, bad), "ledger is not finite");
  }
  for (const double bad : {0.0, -1.0}) {
    expect_refused(with_number(file, "member.0.posterior.rho", 0, bad), "not a proper Gaussian");
    expect_refused(with_number(file, "member.0.prior.variance", 0, bad), "must be positive");
  }
  expect_refused(with_number(file, "member.0.noise_variance", 0, -1.0), "noise variance");
}

template <class Call>
void expect_no_prediction(const Call& call) {
  try {
    call();
    ADD_FAILURE() << "a prediction was made";
  } catch (const NoPrediction& error) {
    EXPECT_EQ(std::string(error.what()).find("row 0: the prediction is not finite; "), 0U)
        << error.what();
  }
}

// Each is finite; only a prediction shows that they are too large. Found by fuzzing: forgetting predicts too.
TEST(LyingArrays, NumbersThatNoPredictionHolds) {
  for (const std::string& file :
       {with_number(independent_file(), "member.0.posterior.tau", 0, 1e300),
        with_number(joint_file(), "member.0.function.mean", 0, 1e300),
        with_number(noise_file(), "member.0.log_noise.mean", 40, 1e300)}) {
    Regressor model = load(file);
    const auto before = model.to_bytes();
    expect_no_prediction([&] { model.predict(small_table(), 1); });
    expect_no_prediction([&] { model.forget_batch(0); });
    EXPECT_EQ(model.to_bytes(), before);
  }
}

// Found by fuzzing: forgetting read messages that were not there.
TEST(LyingArrays, ALedgerThatIsNotThere) {
  const std::string file = joint_file();
  const std::string without =
      with_description(file, [](Json& json) { json["options"]["ledger"] = "none"; });
  EXPECT_EQ(predictions(load(without)), predictions(load(file)));
  const std::string renamed = with_header(file, [](Json& header) {
    for (const std::string name : {"inputs", "roots", "shifts"}) {
      header["member.0.other." + name] = header["member.0.function.ledger." + name];
      header.erase("member.0.function.ledger." + name);
    }
  });
  expect_refused(renamed, "its ledger does not match its rows");
}

// Found by fuzzing, where asserts are on: a proper Gaussian, and not one that a fit arrives at.
TEST(LyingArrays, ABeliefLessSureThanItsPrior) {
  Regressor model = load(with_number(independent_file(), "member.0.posterior.rho", 0, 1e-6));
  model.update(small_table());
  for (const double number : predictions(model)) EXPECT_TRUE(std::isfinite(number));
  EXPECT_EQ(Regressor::from_bytes(model.to_bytes()).to_bytes(), model.to_bytes());
}

// Found by fuzzing: what was left after a batch had gone could be written, and not be read again.
TEST(LyingArrays, MessagesThatAreNoGaussianTogether) {
  const auto expect_kept = [](const std::string& file, const std::string& reason) {
    Regressor model = load(file);
    const auto before = model.to_bytes();
    try {
      model.forget_batch(0);
      ADD_FAILURE() << "it was forgotten";
    } catch (const NetworkError& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
    EXPECT_EQ(model.to_bytes(), before);
  };
  const std::string joint = joint_file();
  const std::string ledger = "member.0.function.ledger.";
  expect_kept(with_number(joint, ledger + "roots", 1, 1e200), "is not positive definite");
  expect_kept(with_number(joint, ledger + "shifts", 0, 1e308), "a joint mean is beyond");
  const std::string file = independent_file();
  const std::size_t weights = load(file).report().weights;
  for (const double bad : {-1e9, -1e300}) {
    expect_kept(with_number(file, "member.0.ledger.rho", weights, bad), "a proper Gaussian");
  }
}

TEST(LyingDescription, AJointNetworkWithoutBias) {
  // Four weights with a bias in each layer; as many without, and two hidden units.
  const std::string altered = with_description(joint_file(), [](Json& json) {
    json["members"][0]["architecture"]["bias"] = {false};
    json["members"][0]["architecture"]["widths"] = {1, 2, 1};
  });
  expect_refused(altered, "every layer of a joint network has a bias");
}

}  // namespace
}  // namespace dma
