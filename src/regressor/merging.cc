#include <dma/regressor/merging.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <tuple>
#include <unordered_map>

#include <dma/base/parallel.h>

#include "base/require.h"
#include "belief/shared_centre.h"
#include "data/row_hash.h"
#include "regressor/fit.h"
#include "regressor/members.h"
#include "regressor/shared_start.h"

namespace dma {
namespace detail {
namespace {

const JointKnowledge& knowledge_of(const Member& member) {
  return dynamic_cast<const JointBelief&>(*member.belief).knowledge();
}

Member with(const Member& member, JointKnowledge known, const Model& model) {
  const TrainingOptions training = training_options(model.encoder, model.options, 1);
  return {joint_member(std::move(known), training, {{}, false}), member.target, member.weight};
}

// Every network of the model with another function, which function(m) computes. Calls of it run at the same time.
template <class Function>
std::vector<Member> with_functions(const Model& model, std::size_t threads,
                                   const Function& function) {
  std::vector<Member> members = model.members;
  parallel_for(members.size(), threads, [&](std::size_t m) {
    JointKnowledge known = knowledge_of(members[m]);
    known.function = function(m);
    members[m] = with(members[m], std::move(known), model);
  });
  return members;
}

// What the same rows always have, in whatever order they come.
std::uint64_t digest_of(const EncodedRows& rows, std::uint64_t start) {
  std::vector<std::array<std::uint64_t, 3>> all;
  for (std::size_t n = 0; n < rows.rows; ++n) {
    all.push_back({rows.hashes[n], word_of(rows.weights.empty() ? 1.0 : rows.weights[n]),
                   rows.copies.empty() ? 1 : rows.copies[n]});
  }
  std::sort(all.begin(), all.end());
  std::uint64_t digest = combine(hash_start, start);
  for (const auto& row : all) {
    for (const std::uint64_t word : row) digest = combine(digest, word);
  }
  return digest;
}

// Of a start, whose own digest is not known yet.
std::uint64_t digest_of(const Model& start) {
  const std::vector<std::byte> bytes = model_bytes(start);
  return word_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Nothing of a report that was about single rows, or about the belief of the sample.
FitReport without_rows(FitReport report) {
  report.batches = 0;
  report.batch_size = 1;
  report.ledger_bytes = 0;
  report.held_out.clear();
  report.training.clear();
  report.certificate = {};
  report.train_nll = std::numeric_limits<double>::quiet_NaN();
  return report;
}

JointKnowledge start_of(const JointKnowledge& known) {
  return without_messages(known, known.function.centre, known.function.prior_precision);
}

// ------------------------------------------------------------------------------------- whether parts fit together

bool has_columns_of(const Encoder& a, const Encoder& b) {
  const auto same = [](const auto& left, const auto& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const auto& x, const auto& y) { return x.name == y.name; });
  };
  return same(a.targets, b.targets) && same(a.features, b.features);
}

bool has_centre_of(const Model& a, const Model& b) {
  return std::equal(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
                    [](const Member& x, const Member& y) {
                      const JointPosterior& left = knowledge_of(x).function;
                      const JointPosterior& right = knowledge_of(y).function;
                      return left.centre == right.centre &&
                             left.prior_precision == right.prior_precision;
                    });
}

void require_start(const Model& part, const std::string& name) {
  require(part.options.belief == BeliefKind::joint,
          name +
              " has the belief independent: its messages are not of one centre, so they cannot "
              "be added; merge models of the belief joint");
  require(part.start.has_value(),
          name +
              " was not fitted from a start, so that it has a centre of its own; fit its rows "
              "with 'dma fit ROWS.csv --start START'");
}

void require_fit(const Model& part, const std::string& name, const Model& first,
                 const std::string& first_name) {
  require(has_columns_of(part.encoder, first.encoder),
          name + " has other columns than " + first_name);
  require(part.start->digest == first.start->digest,
          name + " was fitted from another start (" + digest_text(part.start->digest) + ", round " +
              std::to_string(part.start->round) + ") than " + first_name + " (" +
              digest_text(first.start->digest) + ", round " + std::to_string(first.start->round) +
              "); fit all parts from one file of 'dma prepare'");
  require(part.start->format == first.start->format,
          name + " was fitted by another version of dma than " + first_name +
              "; fit both with the same version");
  require(has_centre_of(part, first),
          name + " says that it has the start of " + first_name + ", but its centres are others");
}

// Fails if a part is in two of the models.
void require_different(std::span<const Model* const> models,
                       const std::vector<std::string>& names) {
  std::unordered_map<std::uint64_t, std::size_t> holder;
  for (std::size_t k = 0; k < models.size(); ++k) {
    for (const SharedStart::Part& part : models[k]->start->parts) {
      const auto [found, is_new] = holder.emplace(part.digest, k);
      require(is_new || found->second == k, names[k] + " has a part that " + names[found->second] +
                                                " has too (" + digest_text(part.digest) + ", " +
                                                std::to_string(part.rows) +
                                                " rows): its rows would count twice");
    }
  }
}

std::vector<std::string> names_or_numbers(std::size_t count, std::span<const std::string> given) {
  std::vector<std::string> names(given.begin(), given.end());
  for (std::size_t k = names.size(); k < count; ++k) {
    names.push_back("model " + std::to_string(k + 1));
  }
  return names;
}

// ---------------------------------------------------------------------------------------------------- merging

// What a part met that the sample had not.
void take_news(const Encoder& from, Encoder& to) {
  for (std::size_t k = 0; k < to.features.size(); ++k) {
    to.features[k].others = to.features[k].others || from.features[k].others;
  }
  for (std::size_t k = 0; k < to.targets.size(); ++k) {
    const Bounds& other = from.targets[k].bounds;
    Bounds& own = to.targets[k].bounds;
    if (own.low != other.low || own.high != other.high) own = {};
  }
}

void append_rows(const Model& from, Model& to) {
  const auto append = [&](const auto& own, auto& all, auto one) {
    if (own.empty() && all.empty()) return;
    all.resize(to.row_hashes.size(), one);
    if (own.empty()) {
      all.resize(all.size() + from.row_hashes.size(), one);
    } else {
      all.insert(all.end(), own.begin(), own.end());
    }
  };
  append(from.row_weights, to.row_weights, 1.0);
  append(from.row_copies, to.row_copies, std::size_t{1});
  to.row_hashes.insert(to.row_hashes.end(), from.row_hashes.begin(), from.row_hashes.end());
  FitReport& report = to.report;
  report.rows += from.report.rows;
  report.copies += from.report.copies;
  report.rows_changed += from.report.rows_changed;
  report.rows_without_target += from.report.rows_without_target;
  report.rows_without_weight += from.report.rows_without_weight;
  to.start->parts.insert(to.start->parts.end(), from.start->parts.begin(), from.start->parts.end());
}

}  // namespace

Model learnt_at_start(const Model& like, EncodedRows rows, std::size_t threads) {
  Model part{like.options, like.encoder, {}, {}, {}, like.calibrations, like.report};
  part.start = like.start;
  part.members = with_functions(like, threads, [&](std::size_t m) {
    const Member& member = like.members[m];
    const std::vector<double> targets = targets_of({rows.rows, {}, rows.targets}, member.target, 1);
    return learnt_at_centre(start_of(knowledge_of(member)),
                            {rows.inputs, targets, rows.rows, rows.weights});
  });
  const std::uint64_t digest = digest_of(rows, like.start->digest);
  std::vector<std::string> unbounded;
  part.encoder = encoder_after(part.encoder, rows, unbounded);
  part.row_hashes = std::move(rows.hashes);
  part.row_weights = rows.weights;
  part.row_copies = std::move(rows.copies);
  FitReport& report = part.report = without_rows(std::move(part.report));
  report.rows = report.rows_changed = known_rows(part);
  report.copies = report.rows - rows.rows;
  report.rows_without_target = rows.without_target;
  report.rows_without_weight = rows.without_weight;
  report.epochs = 1;
  report.stopped = Stopped::tolerance;
  part.start->parts = {{digest, report.rows}};
  return part;
}

Model without_messages_of(const Model& model, const Data& rows, std::size_t threads) {
  Model next = model;
  const std::size_t targets = model.encoder.targets.size();
  next.members = with_functions(model, threads, [&](std::size_t m) {
    const JointKnowledge& known = knowledge_of(model.members[m]);
    std::vector<double> own;
    for (std::size_t n = 0; n < rows.rows; ++n) {
      own.push_back(rows.targets[n * targets + model.members[m].target]);
    }
    const JointPosterior gone =
        learnt_at_centre(start_of(known), {rows.inputs, own, rows.rows, rows.weights});
    return sum_of(std::array{CentredBelief{known.function}, CentredBelief{gone, -1}});
  });
  return next;
}

Model summed(std::span<const Model* const> parts) {
  Model all = *parts.front();
  for (const Model* part : parts.subspan(1)) {
    take_news(part->encoder, all.encoder);
    append_rows(*part, all);
  }
  all.members = with_functions(all, all.options.threads, [&](std::size_t m) {
    std::vector<CentredBelief> beliefs;
    for (const Model* part : parts) {
      beliefs.push_back({knowledge_of(part->members[m]).function});
    }
    return sum_of(beliefs);
  });
  all.report.train_nll = std::numeric_limits<double>::quiet_NaN();
  all.probabilities_below.clear();
  all.held_out_below = false;
  return all;
}

Model merged(std::span<const Model* const> parts, std::span<const std::string> names) {
  require(parts.size() > 1, "merging needs two models at least");
  const std::vector<std::string> all = names_or_numbers(parts.size(), names);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    require_start(*parts[k], all[k]);
    if (k > 0) require_fit(*parts[k], all[k], *parts.front(), all.front());
  }
  require_different(parts, all);
  return summed(parts);
}

}  // namespace detail

using detail::require;

// ------------------------------------------------------------------------------------------------------ Start

namespace {

constexpr const char* model_is_no_start =
    "is a model, not a start: make one of it with 'dma prepare --from MODEL'";

}  // namespace

Start::Start(Model model) : model_(std::move(model)) {
  require(is_start(model_), std::string("this ") + model_is_no_start);
}

Start Start::from(const Regressor& model) {
  const Model& old = model.model();
  require(old.options.belief == BeliefKind::joint,
          "a start needs the belief joint: messages of independent weights are not of one centre, "
          "so they cannot be added");
  for (const TargetColumn& target : old.encoder.targets) {
    require(target.kind == TargetKind::number || target.kind == TargetKind::amount,
            "a start predicts numbers or amounts, and '" + target.name + "' is a " +
                std::string(name_of(target.kind)));
  }
  Model start{
      old.options, old.encoder, {}, {}, {}, old.calibrations, detail::without_rows(old.report)};
  start.options.ledger = LedgerMode::none;
  start.report.rows_changed = 0;
  const std::size_t round = old.start ? old.start->round + 1 : 1;
  start.start = SharedStart{.round = round, .format = model_format_version};
  for (const Member& member : old.members) {
    const JointKnowledge& known = detail::knowledge_of(member);
    const JointPosterior& function = known.function;
    start.members.push_back(
        detail::with(member,
                     detail::without_messages(known, function.mean,
                                              old.start ? detail::next_prior_precision(function)
                                                        : function.prior_precision),
                     start));
  }
  start.start->digest = detail::digest_of(start);
  return Start(std::move(start));
}

Regressor Start::fit(const Table& rows, std::size_t threads) const {
  const auto begun = std::chrono::steady_clock::now();
  EncodedRows encoded = encoder().encode(rows);
  if (encoded.rows == 0) {
    throw DataError(rows.source + ": no row has a target" +
                    (encoded.without_weight > 0 ? " and a weight above 0" : ""));
  }
  const std::vector<double> inputs = encoded.inputs;
  const std::vector<double> targets = encoded.targets;
  const std::vector<double> weights = encoded.weights;
  const std::size_t count = encoded.rows;
  detail::merge_copies(encoded);
  Model part = detail::learnt_at_start(model_, std::move(encoded), threads);
  Regressor fitted(part);
  part.report.train_nll = detail::mean_nll(fitted.predict_encoded(inputs, count, threads),
                                           {targets, weights}, fitted.encoder());
  part.report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return Regressor(std::move(part));
}

Start Start::from_bytes(std::span<const std::byte> bytes) { return Start(read_model(bytes)); }

Start Start::load(const std::filesystem::path& path) {
  Model model = read_model(path);
  if (!is_start(model)) {
    throw ModelError(path.string() + " " + model_is_no_start);
  }
  return Start(std::move(model));
}

// -------------------------------------------------------------------------------------------------- Regressor

Regressor Regressor::merge(std::span<const Regressor> parts, std::span<const std::string> names) {
  const auto begun = std::chrono::steady_clock::now();
  std::vector<const Model*> models;
  for (const Regressor& part : parts) models.push_back(&part.model());
  Model all = detail::merged(models, names);
  all.report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return Regressor(std::move(all));
}

std::size_t rows_in_several(std::span<const Regressor> parts) {
  std::unordered_map<std::uint64_t, std::size_t> first;  // part that had it
  std::size_t sum = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Model& model = parts[k].model();
    for (std::size_t n = 0; n < model.row_hashes.size(); ++n) {
      const auto [found, is_new] = first.emplace(model.row_hashes[n], k);
      if (is_new || found->second == k) continue;
      sum += model.row_copies.empty() ? 1 : model.row_copies[n];
    }
  }
  return sum;
}

std::string digest_text(std::uint64_t digest) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[digest >> shift & 15U];
  return text;
}

}  // namespace dma
