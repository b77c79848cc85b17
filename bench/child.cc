#include "bench/child.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace dma::bench {
namespace {

std::atomic<pid_t> running_child = 0;

sigset_t interruptions() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "dma_bench_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": cannot be created");
    path_ = name;
    // A signal handler could not remove files, but a thread that waits for the signal can. Threads started later
    // inherit the blocked signal.
    const sigset_t set = interruptions();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::thread([set, path = path_] { remove_when_interrupted(set, path); }).detach();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  [[noreturn]] static void remove_when_interrupted(const sigset_t& set,
                                                   const std::filesystem::path& path) {
    int signal = 0;
    sigwait(&set, &signal);
    if (const pid_t child = running_child; child > 0) kill(child, SIGKILL);
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    _exit(128 + signal);
  }

  std::filesystem::path path_;
};

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

pid_t spawn(const std::vector<std::string>& arguments, const std::filesystem::path& out,
            const std::filesystem::path& err) {
  std::vector<std::string> words{DMA_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  constexpr mode_t mode = 0600;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), flags, mode);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), flags, mode);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, words.front().c_str(), &files, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error(words.front() + ": cannot be started");
  return child;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// The largest resident size so far, in bytes; 0 once the process has ended.
double peak_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return 1024 * std::stod(line.substr(6));
  }
  return 0;
}

}  // namespace

const std::filesystem::path& scratch_folder() {
  static const Folder folder;
  return folder.path();
}

Child run_command(const std::vector<std::string>& arguments) {
  const auto out = scratch_folder() / "out";
  const auto err = scratch_folder() / "err";
  const auto begin = std::chrono::steady_clock::now();
  running_child = spawn(arguments, out, err);
  int status = 0;
  double peak = 0;
  // The peak that wait4 reports includes the memory of the cloned process, which is this one, so the new program itself
  // is observed while it runs.
  rusage usage{};
  while (wait4(running_child, &status, WNOHANG, &usage) == 0) {
    peak = std::max(peak, peak_of(running_child));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  running_child = 0;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::string line = "dma";
    for (const std::string& word : arguments) line += " " + word;
    throw std::runtime_error(line + " failed: " + content(err));
  }
  return {spent.count(), seconds(usage.ru_utime) + seconds(usage.ru_stime), peak, content(out)};
}

}  // namespace dma::bench
