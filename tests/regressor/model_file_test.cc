// The model file: what is written is read, what is damaged is refused with a reason.
#include <dma/regressor/model_file.h>
#include <dma/regressor/regressor.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "data/safetensors.h"
#include "regressor/beliefs.h"
#include "regressor/wave_table.h"
#include "scratch.h"

namespace dma {
namespace {

using nlohmann::json;
using test::content;
using test::Scratch;

Regressor small_model(bool single_precision = false, std::size_t hidden = 2) {
  return Regressor::fit(test::wave_table(30, 0.3, 1), {.target = "y",
                                                       .hidden = {hidden},
                                                       .belief = BeliefKind::independent,
                                                       .epochs = 3,
                                                       .batch_size = 10,
                                                       .ensemble = 2,
                                                       .threads = 1,
                                                       .single_precision = single_precision});
}

void expect_same_numbers(const Model& a, const Model& b) {
  EXPECT_EQ(a.batch_rows, b.batch_rows);
  EXPECT_EQ(a.row_hashes, b.row_hashes);
  ASSERT_EQ(a.members.size(), b.members.size());
  for (std::size_t m = 0; m < a.members.size(); ++m) {
    const Arrays left = a.members[m].belief->store();
    const Arrays right = b.members[m].belief->store();
    ASSERT_EQ(std::distance(left.begin(), left.end()), std::distance(right.begin(), right.end()));
    for (auto l = left.begin(), r = right.begin(); l != left.end(); ++l, ++r) {
      EXPECT_EQ(l->first, r->first);
      EXPECT_EQ(l->second.shape, r->second.shape);
      EXPECT_EQ(l->second.numbers, r->second.numbers) << l->first;
    }
  }
}

Regressor joint_model() {
  return Regressor::fit(test::wave_table(30, 0.3, 1),
                        {.target = "y", .hidden = {2}, .epochs = 20, .ensemble = 2, .threads = 1});
}

// The reason for refusing a file, or nothing if it was read.
std::string refusal(const std::string& path) {
  try {
    read_model(path);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

// The file's text with a new, right checksum: what another program might have written.
std::string resealed(std::string file) {
  const std::size_t at = file.find("\"checksum\":\"") + 12;
  file.replace(at, 8, "00000000");
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08lx",
                crc32_z(0, reinterpret_cast<const Bytef*>(file.data()), file.size()));
  return file.replace(at, 8, digits);
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(from.size(), to.size());
  return text.replace(at, from.size(), to);
}

void expect_same_report(const FitReport& a, const FitReport& b) {
  EXPECT_EQ(a.training, b.training);
  EXPECT_EQ(a.rows_changed, b.rows_changed);
  EXPECT_EQ(a.train_nll, b.train_nll);
  ASSERT_EQ(a.cavity.size(), b.cavity.size());
  for (std::size_t k = 0; k < a.cavity.size(); ++k) {
    EXPECT_EQ(a.cavity[k].coverage_curve, b.cavity[k].coverage_curve);
    EXPECT_EQ(a.cavity[k].pit, b.cavity[k].pit);
  }
}

// The file as an earlier version wrote it; `edit` makes its report the one of then.
template <class Edit>
std::string as_format(const std::string& file, const std::string& version, const Edit& edit) {
  using Ordered = nlohmann::ordered_json;
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  Ordered header = Ordered::parse(file.substr(8, length));
  Ordered& metadata = header["__metadata__"];
  Ordered model = Ordered::parse(metadata["model"].get<std::string>());
  edit(model["report"]);
  if (std::stoi(version) < 11) {
    model["architecture"] = model["members"][0]["architecture"];
    model.erase("members");
    model["options"].erase("seconds");
    model["report"].erase("shapes");
  }
  metadata["version"] = version;
  metadata["model"] = model.dump();
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t size = text.size();
  return resealed(std::string(reinterpret_cast<const char*>(&size), 8) + text +
                  file.substr(8 + length));
}

TEST(ModelFile, HoldsEverything) {
  const Scratch scratch;
  for (const bool single : {false, true}) {
    const Regressor model = small_model(single);
    model.save(scratch.path("m"));
    Regressor again = Regressor::load(scratch.path("m"));
    expect_same_numbers(model.model(), again.model());
    ASSERT_EQ(model.report().training.size(), 2U);
    ASSERT_EQ(model.report().training[1].size(), 3U);
    expect_same_report(model.report(), again.report());
    again.save(scratch.path("m2"));
    EXPECT_EQ(content(scratch.path("m")), content(scratch.path("m2")));
  }
}

TEST(ModelFile, HoldsAJointModel) {
  const Scratch scratch;
  const Regressor model = joint_model();
  ASSERT_EQ(model.model().members.size(), 2U);
  const JointKnowledge& known = test::joint(model.model(), 1);
  ASSERT_TRUE(known.log_noise);
  ASSERT_EQ(known.function.ledger.shifts.size(), 30U);
  model.save(scratch.path("m"));
  const Regressor again = Regressor::load(scratch.path("m"));
  again.save(scratch.path("m2"));
  EXPECT_EQ(content(scratch.path("m")), content(scratch.path("m2")));
  const JointKnowledge& other = test::joint(again.model(), 1);
  EXPECT_EQ(other.function.factor, known.function.factor);
  EXPECT_EQ(other.log_noise->mean, known.log_noise->mean);
  EXPECT_EQ(other.function.ledger.inputs, known.function.ledger.inputs);
  EXPECT_EQ(other.function.ledger.roots, known.function.ledger.roots);
  EXPECT_EQ(other.function.ledger.shifts, known.function.ledger.shifts);
  EXPECT_EQ(noise_variance(*other.likelihood), noise_variance(*known.likelihood));
  EXPECT_EQ(other.noise_inputs.value_mean, known.noise_inputs.value_mean);
  EXPECT_EQ(other.noise_inputs.low, known.noise_inputs.low);
}

// 400 rows of two numbers, four networks of 471 weights: their factors are 3.5 MB, 10 times the table is less than 1 MB.
Regressor large_model(std::size_t rows = 400, TargetKind kind = TargetKind::number) {
  Table table = test::wave_table(rows, 0.3, 1);
  if (kind == TargetKind::classes) {
    for (double& y : table.columns.back().numbers) y = std::floor(2 * std::tanh(y));
  }
  return Regressor::fit(
      table,
      {.target = "y", .kind = kind, .hidden = {20, 18}, .epochs = 6, .ensemble = 4, .threads = 2});
}

std::size_t size_of(const std::string& path) { return std::filesystem::file_size(path); }

TEST(ModelFile, LeavesOutWhatFollowsFromTheRest) {
  const Scratch scratch;
  for (const TargetKind kind : {TargetKind::number, TargetKind::classes}) {
    const Regressor model = large_model(800, kind);
    const auto& function = test::joint(model.model(), 1).function;
    ASSERT_FALSE(function.in_messages());
    ASSERT_GT(4 * function.factor.size() * sizeof(double), std::size_t{1} << 20);
    model.save(scratch.path("usual"));
    model.save(scratch.path("whole"), {.fast_load = true});
    EXPECT_LT(size_of(scratch.path("usual")), std::size_t{1} << 20);
    EXPECT_GT(size_of(scratch.path("whole")), 3 * size_of(scratch.path("usual")));
    for (const char* name : {"usual", "whole"}) {
      const Regressor again = Regressor::load(scratch.path(name));
      expect_same_numbers(model.model(), again.model());
      again.save(scratch.path("again"));
      EXPECT_EQ(content(scratch.path("again")), content(scratch.path("usual")));
    }
  }
}

TEST(ModelFile, IsSmallEvenIfItIsSlim) {
  const Scratch scratch;
  const Regressor model = large_model(800);
  model.save(scratch.path("usual"));
  model.save(scratch.path("slim"), {.slim = true});
  EXPECT_LT(size_of(scratch.path("slim")), size_of(scratch.path("usual")));
  Regressor slim = Regressor::load(scratch.path("slim"));
  const auto& there = test::joint(model.model(), 0).function;
  EXPECT_EQ(test::joint(slim.model(), 0).function.factor, there.factor);
  EXPECT_TRUE(test::joint(slim.model(), 0).function.ledger.empty());
  slim.update(test::wave_table(10, 0.3, 2));
  slim.save(scratch.path("slim"));
  EXPECT_EQ(test::joint(Regressor::load(scratch.path("slim")).model(), 0).function.factor,
            test::joint(slim.model(), 0).function.factor);
}

// After that the ledger alone does not say where the messages were linearised.
TEST(ModelFile, KeepsFactorsOnceRowsHaveGone) {
  const Scratch scratch;
  Regressor model = large_model(800);
  model.forget_batch(3);
  model.save(scratch.path("m"));
  expect_same_numbers(model.model(), Regressor::load(scratch.path("m")).model());
}

std::string copies_of(const std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  return json::parse(file.substr(8, length))["__metadata__"]["copies"].get<std::string>();
}

TEST(ModelFile, HoldsTheSameNumbersOnce) {
  const Scratch scratch;
  joint_model().save(scratch.path("m"));
  const std::string file = content(scratch.path("m"));
  const json copies = json::parse(copies_of(file));
  EXPECT_EQ(copies["member.1.function.ledger.inputs"], "member.0.function.ledger.inputs");
  EXPECT_EQ(copies["member.1.log_noise.mean"], "member.0.log_noise.mean");
  EXPECT_FALSE(copies.contains("member.1.function.mean"));
  const auto expect = [&](const std::string& from, const std::string& to,
                          const std::string& reason) {
    const std::string said = refusal(scratch.file("f", resealed(with(file, from, to))));
    EXPECT_NE(said.find(reason), std::string::npos) << said;
  };
  expect("inputs\\\":\\\"member.0.", "inputs\\\":\\\"member.9.", "has no array");
  expect("\\\"member.1.function.ledger.inputs\\\":", "\\\"member.0.function.ledger.inputs\\\":",
         "cannot be a copy of another");
}

TEST(Safetensors, RefusesCopiesThatWouldBeTooMany) {
  const std::vector<double> numbers(std::size_t{1} << 20, 1.5);  // 8 MB
  std::vector<detail::Tensor> tensors;
  for (int k = 0; k < 40; ++k) {
    tensors.push_back({"a" + std::to_string(k),
                       {detail::NumberType::f64, {numbers.size()}},
                       {std::as_bytes(std::span(numbers))}});
  }
  const std::string copies = detail::take_copies(tensors);
  EXPECT_EQ(tensors.size(), 8U);  // 256 MB of copies, 32 arrays
  const auto bytes = detail::safetensors_bytes({{"copies", copies}}, tensors);
  const detail::SafetensorsFile file("f", bytes);
  EXPECT_EQ(file.read<double>("a32", {numbers.size()}), numbers);
  const std::string one_more = copies.substr(0, copies.size() - 1) + R"(,"b":"a0"})";
  const auto more = detail::safetensors_bytes({{"copies", one_more}}, tensors);
  EXPECT_THROW(detail::SafetensorsFile("f", more), ModelError);
}

// Read by the layout's own description, not by our reader.
TEST(ModelFile, IsTheSameInMemory) {
  const Scratch scratch;
  const Regressor model = joint_model();
  model.save(scratch.path("m"));
  const std::string file = content(scratch.path("m"));
  const auto bytes = model.to_bytes();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), file);
  EXPECT_EQ(Regressor::from_bytes(bytes).to_bytes(), bytes);
  for (std::size_t size = 0; size < bytes.size(); size += 101) {
    EXPECT_THROW(Regressor::from_bytes(std::span(bytes).first(size)), ModelError) << size;
  }
}

TEST(ModelFile, IsSafetensors) {
  const Scratch scratch;
  const Regressor model = small_model(true);
  model.save(scratch.path("m"));
  const std::string file = content(scratch.path("m"));
  std::uint64_t length = 0;
  for (int k = 7; k >= 0; --k)
    length = length << 8 | static_cast<unsigned char>(file[std::size_t(k)]);
  EXPECT_EQ(length % 8, 0U);
  const json header = json::parse(file.substr(8, length));
  EXPECT_EQ(header["__metadata__"]["format"], "dma-model");
  EXPECT_EQ(header["__metadata__"]["version"], std::to_string(model_format_version));
  EXPECT_EQ(header["__metadata__"]["precision"], "float");
  std::size_t end = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      for (const auto& value : entry) EXPECT_TRUE(value.is_string());
      continue;
    }
    end = std::max(end, entry["data_offsets"][1].get<std::size_t>());
  }
  EXPECT_EQ(8 + length + end, file.size());
  const auto& tau = header["member.1.posterior.tau"];
  EXPECT_EQ(tau["dtype"], "F32");
  float first = 0;
  std::memcpy(&first, file.data() + 8 + length + tau["data_offsets"][0].get<std::size_t>(), 4);
  EXPECT_EQ(first, test::independent<float>(model.model(), 1).posterior().tau[0]);
}

TEST(ModelFile, EveryChangedByteIsNoticed) {
  const Scratch scratch;
  joint_model().save(scratch.path("m"), {.slim = true});
  const std::string whole = content(scratch.path("m"));
  std::fstream file(scratch.path("m"), std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](std::size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    file.flush();
  };
  for (std::size_t k = 0; k < whole.size(); ++k) {
    put(k, static_cast<char>(whole[k] ^ (1 << k % 8)));
    EXPECT_NE(refusal(scratch.path("m")), "") << "byte " << k;
    put(k, whole[k]);
  }
  EXPECT_EQ(refusal(scratch.path("m")), "");
}

TEST(ModelFile, EveryTruncationIsNoticed) {
  const Scratch scratch;
  small_model().save(scratch.path("m"), {.slim = true});
  const std::string file = content(scratch.path("m"));
  for (std::size_t size = 0; size < file.size(); size += 53) {
    EXPECT_NE(refusal(scratch.file("cut", file.substr(0, size))), "") << size;
  }
  EXPECT_NE(refusal(scratch.file("longer", file + "x")), "");
}

TEST(ModelFile, SaysWhyItRefuses) {
  const Scratch scratch;
  const auto expect = [&](const std::string& text, const std::string& reason) {
    const std::string said = refusal(scratch.file("f", text));
    EXPECT_NE(said.find(reason), std::string::npos) << said << "\nwanted: " << reason;
    EXPECT_EQ(said.find(scratch.path("f") + ": "), 0U) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  };
  small_model().save(scratch.path("m"));
  const std::string file = content(scratch.path("m"));
  expect("", "is not a dma model: only 0 bytes");
  expect("a,b\n1,2\n" + std::string(100, 'x'), "is not a dma model");
  const auto as_version = [&](const std::string& version) {
    const std::string now = "\"version\":\"" + std::to_string(model_format_version) + "\"";
    return with(file, now, "\"version\":\"" + version + "\"");
  };
  const std::string later = std::to_string(model_format_version + 1);
  const std::string readable =
      ", this program reads formats 2 to " + std::to_string(model_format_version);
  expect(as_version("00"), "is damaged: its checksum is");
  expect(resealed(as_version("00")), "has model format 00" + readable);
  expect(resealed(as_version(later)), "has model format " + later + readable);
  expect(resealed(with(file, "dma-model", "dma-mobel")), "but not a dma model");
  // A header that lies about shapes, sizes, or places.
  expect(resealed(with(file, "\"shape\":[3]", "\"shape\":[9]")), "does not fit the file");
  expect(resealed(with(file, "\"shape\":[3,9]", "\"shape\":[9,3]")), "type or shape");
  expect(resealed(with(file, "\"member.1.posterior.tau\"", "\"member.1.posterior.xau\"")),
         "has no array 'member.1.posterior.tau'");
  expect(resealed(with(file, "\\\"widths\\\":[2,2,1]", "\\\"widths\\\":[2,9,1]")), "");
  expect(resealed(with(file, "\\\"widths\\\":[2,2,1]", "\\\"widths\\\":[9,2,1]")),
         "its encoder does not match");
  expect(resealed(with(file, "\\\"architecture\\\"", "\\\"architexture\\\"")),
         "its description cannot be read");
  expect(as_format(file, std::to_string(model_format_version),
                   [](auto& report) { report.erase("rows_changed"); }),
         "its description cannot be read");
  const auto curve = file.find("\\\"coverage_curve\\\":[") + 20;
  std::string short_curve = file;
  const auto level = short_curve.find(',', curve) + 1 - curve;
  expect(resealed(short_curve.replace(curve, level, std::string(level, ' '))),
         "a coverage curve has the wrong number of levels");
  expect(resealed(with(file, "],[", "  ,")), "its training curves do not match its members");
  expect(resealed(with(file, "{\"dtype\"", "{\"dtipe\"")), "its header cannot be read");
  std::string bad_number = file;
  std::memset(bad_number.data() + bad_number.size() - 8, 0xff,
              8);  // of the last member's prior
  expect(resealed(bad_number), "must be positive and finite");
  EXPECT_NE(refusal(scratch.path("nothing")).find("cannot be opened"), std::string::npos);
  EXPECT_NE(refusal(testing::TempDir()).find("is a directory"), std::string::npos);
}

TEST(ModelFile, ReadsTheFormatsBefore) {
  const Scratch scratch;
  const Regressor model = small_model();
  model.save(scratch.path("m"));
  for (const std::string version : {"2", "3", "4", "5"}) {
    const std::string file = as_format(content(scratch.path("m")), version, [&](auto& report) {
      report["seconds"] = 1.5;
      report["sweep_seconds"] = 0.5;
      if (version < "5") {
        report.erase("stream");
        report.erase("sweep_seconds");
      }
      if (version > "2") return;
      report.erase("rows_changed");
      report.erase("training");
      report["cavity"][0].erase("coverage_curve");
    });
    const Regressor again = Regressor::load(scratch.file("old", file));
    expect_same_numbers(model.model(), again.model());
    EXPECT_EQ(again.report().training.empty(), version == "2");
    EXPECT_EQ(again.report().cavity.front().coverage_curve.empty(), version == "2");
    EXPECT_EQ(again.report().rows_changed, 0U);
    EXPECT_EQ(again.report().cavity.front().coverage, model.report().cavity.front().coverage);
    EXPECT_EQ(again.report().train_nll, model.report().train_nll);
    EXPECT_FALSE(again.report().stream);
    EXPECT_EQ(again.report().seconds, 1.5);
    EXPECT_EQ(again.report().sweep_seconds, version == "5" ? 0.5 : 0);
  }
}

TEST(ModelFile, KeepsThatANumberIsNotKnown) {
  Model model = small_model().model();
  model.report.train_nll = std::numeric_limits<double>::quiet_NaN();
  model.report.stream = true;
  const Model again = read_model(model_bytes(model));
  EXPECT_TRUE(std::isnan(again.report.train_nll));
  EXPECT_TRUE(again.report.stream);
}

// Or the file would be another one whenever the machine was slower.
TEST(ModelFile, DoesNotSayHowLongTheFitTook) {
  Model model = small_model().model();
  const auto bytes = model_bytes(model);
  model.report.seconds = 1234.5;
  model.report.sweep_seconds = 678.5;
  EXPECT_EQ(model_bytes(model), bytes);
  const Model again = read_model(bytes);
  EXPECT_TRUE(std::isnan(again.report.seconds));
  EXPECT_TRUE(std::isnan(again.report.sweep_seconds));
}

TEST(ModelFile, AFailedWriteLeavesTheOldOne) {
  const Scratch scratch;
  const Regressor model = small_model();
  model.save(scratch.path("m"));
  const std::string before = content(scratch.path("m"));
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  rlimit limit = old_limit;
  limit.rlim_cur = 1000;  // as a full disk would
  ::setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THROW(small_model(false, 5).save(scratch.path("m")), ModelError);
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(content(scratch.path("m")), before);
  EXPECT_EQ(scratch.files(), 1U);
  EXPECT_THROW(model.save(scratch.path("no/such/folder/m")), ModelError);
}

TEST(ByteOrder, BothAreTheSameFile) {
  std::array<std::uint64_t, 2> numbers{0x0102030405060708, 42};
  auto bytes = std::as_writable_bytes(std::span(numbers));
  detail::swap_unless_little(bytes, 8, std::endian::big);
  EXPECT_EQ(numbers[0], 0x0807060504030201U);
  detail::swap_unless_little(bytes, 8, std::endian::big);
  detail::swap_unless_little(bytes, 8, std::endian::little);
  EXPECT_EQ(numbers[0], 0x0102030405060708U);
  EXPECT_EQ(numbers[1], 42U);
  detail::swap_unless_little(bytes, 4, std::endian::big);
  EXPECT_EQ(numbers[0], 0x0403020108070605U);
}

}  // namespace
}  // namespace dma
