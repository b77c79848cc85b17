#include "regressor/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <dma/base/error.h>
#include <dma/data/atomic_file.h>

#include "data/row_hash.h"
#include "data/safetensors.h"
#include "data/strict_json.h"
#include "regressor/model_json.h"

namespace dma::detail {
namespace {

constexpr const char* format = "dma-checkpoint";
// Raise this whenever a fit changes: another method ends with other bits.
constexpr const char* version = "8";

std::string member_name(std::size_t member) { return "member." + std::to_string(member) + "."; }

// Identifies the rows and their order.
std::string fingerprint(const Rows& rows) {
  std::uint64_t hash = combine(hash_start, rows.rows);
  for (const auto* numbers : {&rows.inputs, &rows.targets, &rows.weights}) {
    for (const double value : *numbers) hash = combine(hash, std::bit_cast<std::uint64_t>(value));
  }
  return std::to_string(rows.rows) + " " + std::to_string(hash);
}

// The first option in which two fits differ. The file's options may be anything.
std::string difference(const std::string& of_file, const std::string& of_fit) {
  constexpr int deepest = 3;
  constexpr std::size_t longest = 60;
  const auto text = [](const StrictJson& value) { return value.dump().substr(0, longest); };
  try {
    const StrictJson before = parse_json(of_file, deepest);
    const StrictJson now = parse_json(of_fit, deepest);
    for (const auto& [name, value] : now.items()) {
      if (!before.is_object() || !before.contains(name)) break;
      if (before[name] != value) return name + " " + text(before[name]) + ", now " + text(value);
    }
  } catch (const NotMeant&) {
    return "they cannot be read";
  }
  return "from another version";
}

}  // namespace

CheckpointFile::CheckpointFile(const Checkpoint& where, const RegressorOptions& options,
                               const Rows& rows, std::size_t members)
    : where_(where),
      options_(options_json(options)),
      rows_(fingerprint(rows)),
      members_(members),
      written_(std::chrono::steady_clock::now()) {
  if (std::filesystem::exists(where_.path)) load();
  try {
    write();
  } catch (const FileError& error) {
    throw ModelError(error.what());
  }
}

void CheckpointFile::fail(const std::string& reason) const {
  throw ModelError(where_.path.string() + ": " + reason +
                   "; delete it to start again, or choose another file");
}

void CheckpointFile::check_fit(const std::string& options, const std::string& rows) const {
  if (options != options_) {
    fail("is a checkpoint from other options (" + difference(options, options_) + ")");
  }
  if (rows != rows_) fail("is a checkpoint from other rows");
}

void CheckpointFile::load() {
  const SafetensorsFile file(where_.path);
  if (file.metadata("format") != format) fail("is a safetensors file, but not a dma checkpoint");
  if (file.metadata("version") != version) fail("was written by another version of dma");
  check_fit(file.metadata("options"), file.metadata("rows"));
  for (std::size_t m = 0; m < members_.size(); ++m) {
    members_[m] = file.read_arrays(member_name(m));
  }
  const auto known = std::count_if(members_.begin(), members_.end(),
                                   [](const Arrays& state) { return !state.empty(); });
  if (known > 0 && where_.say) {
    where_.say("resuming from " + where_.path.string());
  }
}

bool CheckpointFile::is_due() const {
  const std::lock_guard lock(mutex_);
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - written_;
  return since.count() >= where_.seconds;
}

// A full disk may have room later, so writing is tried again when it is due again.
void CheckpointFile::keep(std::size_t member, Arrays state, bool write_now) {
  const std::lock_guard lock(mutex_);
  members_[member] = std::move(state);
  if (!write_now) return;
  try {
    write();
  } catch (const FileError& error) {
    if (!where_.say) throw ModelError(error.what());
    if (!failed_)
      where_.say(std::string(error.what()) + "; the fit continues without a checkpoint");
    failed_ = true;
  }
  written_ = std::chrono::steady_clock::now();
}

void CheckpointFile::write() const {
  std::vector<Tensor> tensors;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    for (Tensor& tensor : tensors_of(members_[m], member_name(m))) {
      tensors.push_back(std::move(tensor));
    }
  }
  const Metadata metadata{
      {"format", format}, {"version", version}, {"options", options_}, {"rows", rows_}};
  write_safetensors(where_.path, metadata, tensors);
}

}  // namespace dma::detail
