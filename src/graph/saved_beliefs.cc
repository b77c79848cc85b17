#include <dma/graph/saved_beliefs.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <dma/base/error.h>

#include "base/require.h"
#include "data/safetensors.h"

namespace dma {
namespace {

constexpr const char* format = "dma-beliefs";
constexpr const char* version = "1";

using Gaussians = std::vector<Gaussian<double>>;
using detail::EdgeLayout;
using detail::no_message;

void put(Arrays& arrays, const std::string& name, const Gaussians& gaussians) {
  std::vector<double> numbers;
  numbers.reserve(2 * gaussians.size());
  for (const auto& one : gaussians) numbers.insert(numbers.end(), {one.tau, one.rho});
  arrays.put(name, std::move(numbers));
}

// Precisions may be negative (EP), or infinite: a point mass.
Gaussians take(Arrays& arrays, const std::string& name) {
  const auto numbers = arrays.take<double>(name);
  detail::require(numbers.size() % 2 == 0, name + " are not pairs");
  Gaussians gaussians(numbers.size() / 2);
  for (std::size_t k = 0; k < gaussians.size(); ++k) {
    gaussians[k] = {numbers[2 * k], numbers[2 * k + 1]};
    const bool is_message = std::isfinite(gaussians[k].tau) &&
                            gaussians[k].rho > -std::numeric_limits<double>::infinity();
    detail::require(is_message, name + " " + std::to_string(k) + " is not a number");
  }
  return gaussians;
}

// Of every edge, also of those to known numbers, which keep none; and where those of each factor begin.
struct AllMessages {
  Gaussians messages;
  std::vector<std::uint32_t> begins{0};
};

AllMessages all_messages(const EdgeLayout& layout, const Gaussians& kept) {
  AllMessages all;
  all.messages.reserve(kept.size());
  all.begins.reserve(layout.factor_count() + 1);
  for (std::uint32_t factor = 0; factor < layout.factor_count(); ++factor) {
    for (std::size_t edge = 0; edge < layout.arity(factor); ++edge) {
      const std::uint32_t place = layout.place(factor, edge);
      all.messages.push_back(place == no_message ? Gaussian<double>::uniform() : kept[place]);
    }
    all.begins.push_back(static_cast<std::uint32_t>(all.messages.size()));
  }
  return all;
}

std::vector<std::uint64_t> wide(const std::vector<std::uint32_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

std::vector<std::uint32_t> take_numbers(Arrays& arrays, const std::string& name, std::size_t end) {
  std::vector<std::uint32_t> result;
  for (const std::uint64_t number : arrays.take<std::uint64_t>(name)) {
    detail::require(number < end, name + " names what is not there");
    result.push_back(static_cast<std::uint32_t>(number));
  }
  return result;
}

}  // namespace

Arrays Beliefs::store() const {
  Arrays arrays;
  arrays.put("counts", std::vector<std::uint64_t>{static_cast<std::uint64_t>(engine_), structure_,
                                                  forgotten_count_, sweeps, converged ? 1U : 0U,
                                                  messages_sent});
  arrays.put("last_change", last_change);
  arrays.put("damping", damping);
  const AllMessages all = all_messages(layout_, messages_);
  put(arrays, "messages", all.messages);
  put(arrays, "marginals", marginals_);
  std::vector<std::uint64_t> gammas;
  for (std::uint32_t v = 0; v < families_.size(); ++v) {
    if (families_[v] == MessageFamily::gamma) gammas.push_back(v);
  }
  if (!gammas.empty()) arrays.put("gamma_variables", std::move(gammas));
  arrays.put("changes", changes_);
  arrays.put("edge_begin", wide(all.begins));
  arrays.put("moving", wide(moving));
  arrays.put("improper_marginals", wide(improper_marginals));
  return arrays;
}

Beliefs Beliefs::restore(Arrays stored) {
  using detail::require;
  Beliefs result;
  const auto counts = stored.take<std::uint64_t>("counts", {6});
  require(counts[0] <= static_cast<std::uint64_t>(Engine::adf), "has no engine");
  result.engine_ = static_cast<Engine>(counts[0]);
  result.structure_ = counts[1];
  result.forgotten_count_ = counts[2];
  result.sweeps = counts[3];
  result.converged = counts[4] == 1;
  result.messages_sent = counts[5];
  result.last_change = stored.take_number("last_change");
  result.damping = stored.take_number("damping");
  result.messages_ = take(stored, "messages");
  result.marginals_ = take(stored, "marginals");
  const std::size_t variables = result.marginals_.size();
  if (stored.has("gamma_variables")) {
    result.families_.resize(variables, MessageFamily::gaussian);
    for (const std::uint32_t v : take_numbers(stored, "gamma_variables", variables))
      result.families_[v] = MessageFamily::gamma;
  }
  result.changes_ = stored.take<double>("changes");
  require(result.changes_.empty() || result.changes_.size() == variables,
          "has changes of another graph");
  const std::size_t edges = result.messages_.size();
  const auto begin = take_numbers(stored, "edge_begin", edges + 1);
  require(!begin.empty() && begin.front() == 0 && begin.back() == edges &&
              std::is_sorted(begin.begin(), begin.end()),
          "has factors without their messages");
  for (std::size_t factor = 0; factor + 1 < begin.size(); ++factor)
    result.layout_.add_one(begin[factor + 1] - begin[factor]);
  result.moving = take_numbers(stored, "moving", variables);
  result.improper_marginals = take_numbers(stored, "improper_marginals", variables);
  return result;
}

void save_beliefs(const Beliefs& beliefs, const std::filesystem::path& path) {
  const Arrays arrays = beliefs.store();
  const auto tensors = detail::tensors_of(arrays, "");
  detail::write_safetensors(path, {{"format", format}, {"version", version}}, tensors);
}

Beliefs load_beliefs(const std::filesystem::path& path, const Graph& graph) {
  const detail::SafetensorsFile file(path);
  if (file.metadata("format") != format) file.fail("does not hold the beliefs of a graph");
  if (file.metadata("version") != version) {
    file.fail("has another version of the format, this program reads " + std::string(version));
  }
  try {
    Beliefs beliefs = Beliefs::restore(file.read_arrays(""));
    graph.check_own(beliefs);
    return beliefs;
  } catch (const NetworkError& error) {
    file.fail(error.what());
  } catch (const GraphError& error) {
    file.fail(error.what());
  }
}

}  // namespace dma
