// After the command was killed or could not write, the old or the new file is on disk, complete.
#include <dma/regressor/model_file.h>
#include <dma/regressor/regressor.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "cli/expect.h"
#include "cli/fitted.h"
#include "sanitized.h"

namespace {

using dma::test::content;
using dma::test::expect_refusal;
using dma::test::Fitted;
using dma::test::Outcome;
using dma::test::run;
using dma::test::sanitized;
using dma::test::Scratch;
using dma::test::shell;
using dma::test::shell_word;
using dma::test::wave_csv;
using Seconds = std::chrono::duration<double>;

// The command in a process of its own, without a shell between: what is killed is the command.
pid_t start(const std::vector<std::string>& arguments) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
  std::vector<char*> words{const_cast<char*>(DMA_COMMAND)};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(DMA_COMMAND, words.data());
  ::_exit(127);
}

// True if it ended by itself before its time was up, and well.
bool survives(const std::vector<std::string>& arguments, Seconds time) {
  const pid_t child = start(arguments);
  std::this_thread::sleep_for(time);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return false;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return true;
}

Seconds time_of(const std::vector<std::string>& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = start(arguments);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return std::chrono::steady_clock::now() - begin;
}

// Bytes of a model file; empty if there is none. Throws if it is incomplete.
std::string model_at(const std::string& path) {
  if (!std::filesystem::exists(path)) return "";
  dma::read_model(path);
  return content(path);
}

constexpr int kills_of_each = sanitized ? 20 : 100;

TEST(Killed, AFitGoesOnFromItsCheckpointToTheSameModel) {
  for (const std::string belief : {"joint", "independent"}) {
    const Scratch scratch;
    const std::string model = scratch.path("m");
    const std::string checkpoint = scratch.path("c");
    const std::vector<std::string> fit{"fit",
                                       scratch.file("wave.csv", wave_csv(100, 1)),
                                       "--target",
                                       "y",
                                       "--model",
                                       model,
                                       "--belief",
                                       belief,
                                       "--hidden",
                                       "6",
                                       "--epochs",
                                       "12",
                                       "--tolerance",
                                       "0",
                                       "--checkpoint",
                                       checkpoint,
                                       "--checkpoint-every",
                                       "0"};
    const Seconds whole = time_of(fit);
    const auto expected = model_at(model);
    EXPECT_FALSE(std::filesystem::exists(checkpoint));
    // Other options, so that the old model differs from the new one.
    EXPECT_EQ(run("fit " + shell_word(fit[1]) +
                  " --target y --hidden 2 --epochs 1 --ensemble 1 --model " + shell_word(model))
                  .status,
              0);
    const std::string old = content(model);
    std::mt19937_64 random(1);
    int ended = 0;
    int resumed = 0;
    for (int kill = 0; kill < kills_of_each / 2; ++kill) {
      resumed += std::filesystem::exists(checkpoint);
      const Seconds time = whole * std::uniform_real_distribution(0.0, 0.7)(random);
      const bool done = survives(fit, time);
      const auto found = model_at(model);
      ASSERT_TRUE(found == old || found == expected);
      if (!done) continue;
      EXPECT_TRUE(found == expected);
      EXPECT_FALSE(std::filesystem::exists(checkpoint));
      scratch.file("m", old);
      ++ended;
    }
    time_of(fit);
    EXPECT_TRUE(model_at(model) == expected);
    EXPECT_GT(resumed, kills_of_each / 10);
    EXPECT_EQ(scratch.files(), 2U);  // table and model: nothing is left behind
    RecordProperty(belief + "_ended", ended);
  }
}

TEST(Killed, AnUpdateHasHappenedOrNot) {
  const Fitted fitted;
  const std::string old = content(fitted.model);
  const std::vector<std::string> update{"update", fitted.model,
                                        fitted.scratch.file("new.csv", wave_csv(40, 2)), "--data",
                                        fitted.data};
  const Seconds whole = time_of(update);
  const auto expected = model_at(fitted.model);
  EXPECT_FALSE(expected == old);
  std::mt19937_64 random(2);
  int happened = 0;
  for (int kill = 0; kill < kills_of_each; ++kill) {
    fitted.scratch.file("m.safetensors", old);
    const Seconds time = whole * std::uniform_real_distribution(0.0, 1.2)(random);
    const bool done = survives(update, time);
    const auto found = model_at(fitted.model);
    ASSERT_TRUE(found == old || found == expected);
    EXPECT_TRUE(!done || found == expected);
    happened += found == expected;
  }
  EXPECT_EQ(fitted.scratch.files(), 3U);
  RecordProperty("happened", happened);
}

// A folder in memory of so many kilobytes, in which the command runs; for whom the system allows it.
std::string in_small_folder(const std::string& folder, int kilobytes, const std::string& prepare,
                            const std::string& command) {
  return "unshare --map-root-user --mount sh -c " +
         shell_word("mount -t tmpfs -o size=" + std::to_string(kilobytes) + "k none \"" + folder +
                    "\" && { " + prepare + "; } && " + command);
}

bool can_mount() {
  const Scratch scratch;
  return shell(in_small_folder(scratch.path(""), 64, "true", "true")).status == 0;
}

TEST(FullDisk, LeavesTheOldModel) {
  if (!can_mount()) GTEST_SKIP() << "this system does not allow it to mount a folder";
  const Fitted fitted;
  const auto size = static_cast<int>(std::filesystem::file_size(fitted.model) / 1024);
  std::filesystem::create_directory(fitted.scratch.path("small"));
  const std::string small = fitted.scratch.path("small/m");
  const std::string more = fitted.scratch.file("new.csv", wave_csv(40, 2));
  const std::string kept = fitted.scratch.path("kept");
  const std::string save_old = "cp \"" + fitted.model + "\" \"" + small + "\"";
  const std::string show = " ; status=$? ; cp \"" + small + "\" \"" + kept + "\" ; ls \"" +
                           fitted.scratch.path("small") + "\" | wc -l ; exit $status";
  for (const std::string& command :
       {"\"$DMA\" update \"" + small + "\" \"" + more + "\"",
        "\"$DMA\" fit \"" + fitted.data + "\" --target y --hidden 8 --model \"" + small + "\""}) {
    const Outcome outcome = shell(
        in_small_folder(fitted.scratch.path("small"), size + size / 4, save_old, command + show));
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("No space left"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(small), std::string::npos) << outcome.err;
    EXPECT_EQ(content(kept), content(fitted.model));
    EXPECT_NE(outcome.out.find("1\n"), std::string::npos) << outcome.out;  // no other file is left
  }
}

TEST(FullDisk, PredictionsAreAllThereOrNotAtAll) {
  const Fitted fitted;
  const std::string out = fitted.scratch.path("out.csv");
  const std::string predict =
      "$DMA predict " + shell_word(fitted.model) + " " + shell_word(fitted.data) + " -o ";
#ifndef __SANITIZE_THREAD__  // whose own memory is a file, and larger
  const Outcome limited = shell("ulimit -f 2; " + predict + shell_word(out));
  EXPECT_EQ(limited.status, 1);
  EXPECT_NE(limited.err.find("File too large"), std::string::npos) << limited.err;
  EXPECT_FALSE(std::filesystem::exists(out));
#endif
  EXPECT_EQ(shell(predict + "/dev/full").status, 1);
}

TEST(ReadOnlyFolder, LeavesTheOldModel) {
  if (!can_mount()) GTEST_SKIP() << "this system does not allow it to mount a folder";
  const Fitted fitted;
  const std::string folder = fitted.scratch.path("folder");
  std::filesystem::create_directory(folder);
  const std::string model = folder + "/m";
  const std::string more = fitted.scratch.file("new.csv", wave_csv(40, 2));
  const std::string prepare =
      "cp \"" + fitted.model + "\" \"" + model + "\" && mount -o remount,ro \"" + folder + "\"";
  const std::string same =
      " ; status=$? ; cmp \"" + fitted.model + "\" \"" + model + "\" || exit 3 ; exit $status";
  for (const std::string& command :
       {"\"$DMA\" update \"" + model + "\" \"" + more + "\"",
        "\"$DMA\" fit \"" + fitted.data + "\" --target y --hidden 2 --model \"" + model + "\"",
        "\"$DMA\" fit \"" + fitted.data + "\" --target y --hidden 2 --checkpoint \"" + folder +
            "/c\" --model \"" + fitted.scratch.path("other") + "\""}) {
    const Outcome outcome = shell(in_small_folder(folder, 10000, prepare, command + same));
    EXPECT_EQ(outcome.status, 1) << command << outcome.err;
    EXPECT_NE(outcome.err.find("Read-only file system"), std::string::npos) << outcome.err;
  }
  EXPECT_FALSE(std::filesystem::exists(fitted.scratch.path("other")));
}

TEST(Checkpoint, IsRefusedWhereItCannotHelp) {
  const Scratch scratch;
  const std::string fit = "fit " + shell_word(scratch.file("wave.csv", wave_csv(40, 1))) +
                          " --target y --model " + shell_word(scratch.path("m"));
  const auto with = [&](const std::string& more) { return run(fit + " --checkpoint " + more); };
  expect_refusal(with(shell_word(scratch.path("m"))), "choose another", 2);
  const std::string checkpoint = shell_word(scratch.path("c"));
  expect_refusal(with(checkpoint + " --ledger none --epochs 1"), "cannot be resumed", 2);
  expect_refusal(with(checkpoint + " --checkpoint-every -1"), "--checkpoint-every", 2);
  const Outcome own_data = with(shell_word(scratch.path("wave.csv")));
  EXPECT_EQ(own_data.status, 1);
  EXPECT_NE(own_data.err.find("wave.csv: is not"), std::string::npos) << own_data.err;
  EXPECT_EQ(content(scratch.path("wave.csv")), wave_csv(40, 1));
}

// Schedulers send SIGTERM before they kill: the model learnt so far and the checkpoint must be there.
TEST(Terminated, AFitEndsCleanlyAndGoesOn) {
  const Scratch scratch;
  const std::vector<std::string> fit{"fit",
                                     scratch.file("wave.csv", wave_csv(400, 1)),
                                     "--target",
                                     "y",
                                     "--model",
                                     scratch.path("m"),
                                     "--belief",
                                     "independent",
                                     "--epochs",
                                     "1000",
                                     "--tolerance",
                                     "0",
                                     "--checkpoint",
                                     scratch.path("c"),
                                     "--checkpoint-every",
                                     "0"};
  const pid_t child = start(fit);
  // The checkpoint is written before the first epoch; a second file means that epochs are counted.
  const auto first_size = [&] { return content(scratch.path("c")).size(); };
  for (int wait = 0; wait < 3000 && first_size() < 10000; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // Sent twice, as timeout(1) does.
  ::kill(child, SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(child, SIGTERM);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(dma::read_model(scratch.path("m")).report.stopped, dma::Stopped::interrupted);
  EXPECT_TRUE(std::filesystem::exists(scratch.path("c")));
}

}  // namespace
