// python/core/watch.h: long work without the interpreter lock, which Ctrl-C can end.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include <dma/regressor/regressor.h>
#include <pybind11/pybind11.h>

namespace dma::python {

// The exception that a signal handler raised, if any. Needs the interpreter lock.
inline pybind11::object raised_by_signal() {
  if (PyErr_CheckSignals() == 0) return pybind11::none();
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return pybind11::reinterpret_steal<pybind11::object>(value);
}

// The last progress reported, for another thread to read.
class LatestProgress {
 public:
  void set(const FitProgress& progress) {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  }
  std::optional<FitProgress> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(progress_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<FitProgress> progress_;
};

// Python runs signal handlers only in its main thread and only between its own instructions. So the work runs in its
// own thread, and the caller's thread checks for signals (and reports progress to `show`) ten times a second. An
// exception from a handler or `show` asks the work to stop; it is returned as the second value, with what the work had
// reached.
template <class Work>
auto watch(const pybind11::object& show, const Work& work) {
  std::atomic<bool> stop = false;
  LatestProgress latest;
  const OnProgress progress = [&](const FitProgress& now) {
    latest.set(now);
    return !stop;
  };
  auto future = std::async(std::launch::async, [&] { return work(progress); });
  pybind11::object raised = pybind11::none();
  for (bool done = false; !done;) {
    {
      const pybind11::gil_scoped_release unlocked;
      done = future.wait_for(std::chrono::milliseconds(100)) == std::future_status::ready;
    }
    if (stop) continue;
    raised = raised_by_signal();
    const auto now = latest.take();
    if (raised.is_none() && now && !show.is_none()) {
      try {
        show(now->member, now->members, now->epoch, now->epochs, now->share);
      } catch (pybind11::error_already_set& error) {
        raised = error.value();
      }
    }
    stop = !raised.is_none();
  }
  return std::pair(future.get(), raised);
}

}  // namespace dma::python
