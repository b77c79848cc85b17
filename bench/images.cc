// Fashion-MNIST as a table of 784 numbers and ten classes: Algorithm 1 with a softmax on 784-256-256-10, and libtorch's
// Adam on the same network. After every pass the test images are predicted, which is not counted.
//
// All settings were chosen with 10,000 of the training images held out; the test images have chosen nothing.
#include <dma/belief/independent.h>
#include <dma/likelihood/classes.h>
#include <dma/metrics/classes.h>
#include <dma/special/random.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "baselines/torch_baselines.h"
#include "bench/adam.h"
#include "bench/clock.h"
#include "bench/idx.h"
#include "bench/sections.h"

namespace dma::bench {
namespace {

constexpr const char* folder = "/usr/share/datasets/fashion-mnist";
constexpr const char* package = "dataset-fashion-mnist";
constexpr std::size_t classes = 10;

// ---- Images ------------------------------------------------------------------------------------------------

struct Images {
  std::vector<double> inputs;  // images x pixels, from 0 to 1
  std::vector<double> labels;

  std::size_t count() const { return labels.size(); }
  std::size_t pixels() const { return inputs.size() / count(); }
};

std::string images_of(const std::string& part) {
  return fmt::format("{}/{}-images-idx3-ubyte.gz", folder, part);
}
std::string labels_of(const std::string& part) {
  return fmt::format("{}/{}-labels-idx1-ubyte.gz", folder, part);
}

bool are_there() {
  bool all = true;
  for (const char* part : {"train", "t10k"}) {
    all =
        all && std::filesystem::exists(images_of(part)) && std::filesystem::exists(labels_of(part));
  }
  return all;
}

Images read_images(const std::string& part) {
  const ByteArray images = read_idx(images_of(part));
  const ByteArray labels = read_idx(labels_of(part));
  if (images.sizes.size() != 3 || labels.sizes.size() != 1 || images.sizes[0] != labels.sizes[0]) {
    throw std::runtime_error(fmt::format("{}: {} has not one label per image", folder, part));
  }
  Images result{{}, {labels.bytes.begin(), labels.bytes.end()}};
  for (const std::uint8_t byte : images.bytes) result.inputs.push_back(byte / 255.0);
  return result;
}

struct ImageTask {
  Images train, test;
};

// A pixel that hardly varies tells little, and must not become large in the few images where it is not dark.
constexpr double least_pixel_variance = 0.03;

// Every pixel less its mean over the training images, in deviations.
void standardise(ImageTask& task) {
  const std::size_t pixels = task.train.pixels();
  for (std::size_t j = 0; j < pixels; ++j) {
    double sum = 0;
    double squares = 0;
    for (std::size_t k = j; k < task.train.inputs.size(); k += pixels) {
      sum += task.train.inputs[k];
      squares += task.train.inputs[k] * task.train.inputs[k];
    }
    const auto count = static_cast<double>(task.train.count());
    const double mean = sum / count;
    const double deviation = std::sqrt(squares / count - mean * mean + least_pixel_variance);
    for (auto* inputs : {&task.train.inputs, &task.test.inputs}) {
      for (std::size_t k = j; k < inputs->size(); k += pixels) {
        (*inputs)[k] = ((*inputs)[k] - mean) / deviation;
      }
    }
  }
}

ImageTask read_image_task() {
  ImageTask task{read_images("train"), read_images("t10k")};
  standardise(task);
  return task;
}

Architecture network_of(const ImageTask& task) {
  return {.widths = {task.train.pixels(), 256, 256, classes}, .slopes = {0}};
}

// ---- Methods -----------------------------------------------------------------------------------------------

// After each pass: its processor seconds, and how the test images were predicted.
struct ClassCurve {
  std::vector<double> seconds;
  std::vector<ClassMetrics> scores;
};

// How many images are handed over at a time. Each is learnt at once, so that the size changes nothing.
constexpr std::size_t batch_size = 1000;

// Images of a batch, in a new order for every pass.
class Batches {
 public:
  explicit Batches(const Images& images) : images_(images), order_(images.count()), random_(1) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  void shuffle() {
    for (std::size_t k = order_.size(); k > 1; --k) {
      const auto other = static_cast<std::size_t>(random_.uniform(0, static_cast<double>(k)));
      std::swap(order_[k - 1], order_[std::min(other, k - 1)]);
    }
  }

  template <class Take>
  void each(const Take& take) {
    const std::size_t pixels = images_.pixels();
    for (std::size_t first = 0; first < order_.size(); first += batch_size) {
      const std::size_t rows = std::min(batch_size, order_.size() - first);
      inputs_.clear();
      labels_.clear();
      for (const std::size_t image : std::span(order_).subspan(first, rows)) {
        const auto row = images_.inputs.begin() + static_cast<std::ptrdiff_t>(image * pixels);
        inputs_.insert(inputs_.end(), row, row + static_cast<std::ptrdiff_t>(pixels));
        labels_.push_back(images_.labels[image]);
      }
      take(Data{inputs_, labels_, rows});
    }
  }

 private:
  const Images& images_;
  std::vector<std::size_t> order_;
  special::Random random_;
  std::vector<double> inputs_, labels_;
};

// Every pass goes on from the belief of the one before and counts the images again (belief/ledger.h, mode none), by a
// power that falls to 0, so that the images it has seen last do not weigh most.
constexpr double prior_scale = 2;
constexpr double first_power = 1.5;

double power_of(std::size_t pass, std::size_t passes) {
  return first_power * (1 - static_cast<double>(pass) / static_cast<double>(passes));
}

template <class T>
ClassCurve train_ours(const ImageTask& task, std::size_t passes) {
  const Architecture network = network_of(task);
  WeightPrior known = draw_prior(network, 1, prior_scale);
  Batches batches(task.train);
  ClassCurve curve;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const double begin = processor_seconds();
    IndependentBelief<T> belief(network, std::move(known),
                                {.ledger = LedgerMode::none,
                                 .likelihood = std::make_shared<ClassLikelihood>(classes, false)},
                                {.likelihood_power = power_of(pass, passes),
                                 .cavity_score = false});  // Adam has no score either
    batches.shuffle();
    batches.each([&](const Data& rows) { belief.learn(rows); });
    const WeightMoments weights = belief.weights();
    known = {weights.mean, weights.variance};
    curve.seconds.push_back(processor_seconds() - begin);
    const Prediction predicted = predict(belief.posterior(), task.test.inputs, task.test.count());
    curve.scores.push_back(score_classes(task.test.labels, predicted.mean));
  }
  return curve;
}

// Becomes the softmax of each row.
void to_probabilities(std::span<double> outputs) {
  for (std::size_t first = 0; first < outputs.size(); first += classes) {
    const auto row = outputs.subspan(first, classes);
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double& one : row) sum += one = std::exp(one - largest);
    for (double& one : row) one /= sum;
  }
}

ClassCurve train_adam(const ImageTask& task, std::size_t passes, std::size_t batch) {
  const Architecture network = network_of(task);
  const baselines::Problem problem{
      network, task.train.inputs, task.train.labels, task.train.count(), 1, true};
  auto result = baselines::train_adam(problem, draw_prior(network, 1).mean,
                                      {.learning_rate = 1e-3,
                                       .epochs = passes,
                                       .batch_size = batch,
                                       .single_precision = true,
                                       .held_out = task.test.inputs.data(),
                                       .held_out_rows = task.test.count()});
  to_probabilities(result.held_out);
  ClassCurve curve{result.epoch_seconds, {}};
  const std::size_t size = task.test.count() * classes;
  for (std::size_t first = 0; first < result.held_out.size(); first += size) {
    curve.scores.push_back(
        score_classes(task.test.labels, std::span(result.held_out).subspan(first, size)));
  }
  return curve;
}

// ---- Report ------------------------------------------------------------------------------------------------

void add_scores(Results& results, const std::string& name, const ClassCurve& curve) {
  for (std::size_t pass = 0; pass < curve.seconds.size(); ++pass) {
    const ClassMetrics& score = curve.scores[pass];
    const std::string at = fmt::format("{}/pass {:02}/", name, pass + 1);
    results.add(at + "test error", "%", 100 * (1 - score.accuracy));
    results.add(at + "log loss", "nats", score.log_loss);
    results.add(at + "calibration error", "", score.calibration_error);
    results.add(name + "/seconds per pass", "s", curve.seconds[pass]);
  }
}

template <class Train>
void add_method(Plan& plan, const std::string& name, const Train& train) {
  const auto curve = std::make_shared<ClassCurve>();
  plan.once(name + "/all passes", "s", 1, [curve, train] {
    *curve = train();
    return std::accumulate(curve->seconds.begin(), curve->seconds.end(), 0.0);
  });
  plan.after([curve, name](Results& results) { add_scores(results, name, *curve); });
}

// Not a ratio of two times: shown beside its target, never accepted nor checked.
void add_target(Plan& plan, const std::string& name, double most) {
  plan.ratio({name, Better::smaller, at_most(most),
              [name](const Results& results) { return results.values(name); }, true});
}

}  // namespace

void add_images(Plan& plan) {
  if (!are_there()) {
    plan.note(fmt::format("NO IMAGES: install the package {}", package));
    return;
  }
  const auto task = std::make_shared<const ImageTask>(read_image_task());
  const std::size_t passes = plan.quick ? 1 : 10;
  const std::string ours = "images/float";
  add_method(plan, ours, [=] { return train_ours<float>(*task, passes); });
  add_target(plan, ours + "/pass 01/test error", 15);
  add_target(plan, ours + "/pass 01/calibration error", 0.02);
  if (!plan.quick) {
    add_method(plan, "images/double", [=] { return train_ours<double>(*task, 1); });
    add_target(plan, ours + "/pass 10/test error", 11.5);
    add_target(plan, ours + "/pass 10/calibration error", 0.02);
  }
  if (!adam_is_comparable(plan)) return;
  for (const std::size_t batch : {20U, 256U}) {
    if (plan.quick && batch == 20) continue;
    const std::string name = fmt::format("images/Adam, batches of {}", batch);
    add_method(plan, name, [=] { return train_adam(*task, passes, batch); });
    plan.quotient(fmt::format("images/Adam in batches of {} over ours, per pass", batch),
                  name + "/seconds per pass", ours + "/seconds per pass", Better::larger);
  }
}

}  // namespace dma::bench
