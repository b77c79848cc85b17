#include "bench/machine.h"

#include <sys/utsname.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace dma::bench {
namespace {

std::string architecture() {
  utsname system{};
  uname(&system);
  return system.machine;
}

// The text after the colon in the first line that begins so; empty if there is none.
std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.rfind(key, 0) == 0 && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return "";
}

// Arm numbers its own cores; the kernel does not name them.
std::string arm_core() {
  using Core = std::pair<const char*, const char*>;
  constexpr std::array<Core, 9> cores{{{"0xd08", "cortex-a72"},
                                       {"0xd0b", "cortex-a76"},
                                       {"0xd0c", "neoverse-n1"},
                                       {"0xd40", "neoverse-v1"},
                                       {"0xd49", "neoverse-n2"},
                                       {"0xd4f", "neoverse-v2"},
                                       {"0xd84", "neoverse-v3"},
                                       {"0xd8e", "neoverse-n3"},
                                       {"0xd03", "cortex-a53"}}};
  const std::string part = cpuinfo("CPU part");
  if (cpuinfo("CPU implementer") == "0x41") {
    for (const auto& [number, name] : cores) {
      if (part == number) return name;
    }
  }
  return part.empty() ? "" : "part-" + cpuinfo("CPU implementer") + "-" + part;
}

// Letters and digits, and one hyphen for anything between: fit for the name of a file.
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  if (!result.empty() && result.back() == '-') result.pop_back();
  return result;
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "1024K" and "32M".
std::size_t parse_size(const std::string& text) {
  std::size_t end = 0;
  const std::size_t number = text.empty() ? 0 : std::stoul(text, &end);
  const char unit = end < text.size() ? text[end] : ' ';
  return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
}

}  // namespace

std::string machine_kind() {
  std::string model = arm_core();
  if (model.empty()) model = cpuinfo("model name");
  return plain(architecture() + "-" + (model.empty() ? "unknown" : model));
}

bool is_neoverse_v1() { return machine_kind() == "aarch64-neoverse-v1"; }

Caches caches() {
  Caches result{32 << 10, 512 << 10, 8 << 20};
  for (int index = 0; index < 8; ++index) {
    const std::filesystem::path folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    const std::size_t size = parse_size(first_line(folder / "size"));
    if (size == 0 || first_line(folder / "type") == "Instruction") continue;
    const std::string level = first_line(folder / "level");
    if (level == "1") result.level1 = size;
    if (level == "2") result.level2 = size;
    if (level == "3") result.level3 = size;
  }
  return result;
}

}  // namespace dma::bench
