#include "kernels/instruction_sets.h"
// It must come first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/ceilings.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include <cstddef>

#include "bench/ceilings.h"

HWY_BEFORE_NAMESPACE();
namespace dma::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Each call does so many rounds of so many independent chains.
constexpr std::size_t rounds = 4096;
constexpr std::size_t chains = 16;  // latency times issue width, and still in registers

struct Operation {
  template <class V>
  static V step(V chain, V x) {
    return hn::MulAdd(x, x, chain);  // the sum is the chain: no copy of a register
  }
};
struct Division {
  template <class V>
  static V step(V chain, V x) {
    return hn::Div(chain, x);
  }
};

// Sixteen variables by hand: vectors of unknown length cannot be in an array or a lambda.
template <class Kind, class T>
double in_chains(T argument) {
  const hn::ScalableTag<T> d;
  const auto x = hn::Set(d, argument);
  // The chains start from different numbers; otherwise the compiler would merge them.
  auto a0 = x, a1 = hn::Add(a0, x), a2 = hn::Add(a1, x), a3 = hn::Add(a2, x);
  auto a4 = hn::Add(a3, x), a5 = hn::Add(a4, x), a6 = hn::Add(a5, x), a7 = hn::Add(a6, x);
  auto b0 = hn::Add(a7, x), b1 = hn::Add(b0, x), b2 = hn::Add(b1, x), b3 = hn::Add(b2, x);
  auto b4 = hn::Add(b3, x), b5 = hn::Add(b4, x), b6 = hn::Add(b5, x), b7 = hn::Add(b6, x);
  for (std::size_t k = 0; k < rounds; ++k) {
    a0 = Kind::step(a0, x), a1 = Kind::step(a1, x), a2 = Kind::step(a2, x);
    a3 = Kind::step(a3, x), a4 = Kind::step(a4, x), a5 = Kind::step(a5, x);
    a6 = Kind::step(a6, x), a7 = Kind::step(a7, x), b0 = Kind::step(b0, x);
    b1 = Kind::step(b1, x), b2 = Kind::step(b2, x), b3 = Kind::step(b3, x);
    b4 = Kind::step(b4, x), b5 = Kind::step(b5, x), b6 = Kind::step(b6, x);
    b7 = Kind::step(b7, x);
  }
  a0 = hn::Add(hn::Add(a0, a1), hn::Add(a2, a3));
  a4 = hn::Add(hn::Add(a4, a5), hn::Add(a6, a7));
  b0 = hn::Add(hn::Add(b0, b1), hn::Add(b2, b3));
  b4 = hn::Add(hn::Add(b4, b5), hn::Add(b6, b7));
  const auto sum = hn::Add(hn::Add(a0, a4), hn::Add(b0, b4));
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
}

float read(const float* values, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t step = hn::Lanes(d);
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  auto f = hn::Zero(d), g = hn::Zero(d), h = hn::Zero(d), i = hn::Zero(d);
  for (std::size_t k = 0; k + 8 * step <= count; k += 8 * step) {
    a = hn::Add(a, hn::LoadU(d, values + k));
    b = hn::Add(b, hn::LoadU(d, values + k + step));
    c = hn::Add(c, hn::LoadU(d, values + k + 2 * step));
    e = hn::Add(e, hn::LoadU(d, values + k + 3 * step));
    f = hn::Add(f, hn::LoadU(d, values + k + 4 * step));
    g = hn::Add(g, hn::LoadU(d, values + k + 5 * step));
    h = hn::Add(h, hn::LoadU(d, values + k + 6 * step));
    i = hn::Add(i, hn::LoadU(d, values + k + 7 * step));
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i)));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

double operations_float(float factor) { return in_chains<Operation>(factor); }
double operations_double(double factor) { return in_chains<Operation>(factor); }
double divisions_float(float divisor) { return in_chains<Division>(divisor); }
double divisions_double(double divisor) { return in_chains<Division>(divisor); }
double numbers_per_call(std::size_t number_bytes) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<std::uint8_t>()) / number_bytes;
  return static_cast<double>(rounds * chains * lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace dma::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>
#include <set>
#include <vector>

#include "bench/machine.h"
#include "kernels/on_instruction_set.h"

namespace dma::bench {

HWY_EXPORT(operations_float);
HWY_EXPORT(operations_double);
HWY_EXPORT(divisions_float);
HWY_EXPORT(divisions_double);
HWY_EXPORT(numbers_per_call);
HWY_EXPORT(read);

namespace {

constexpr std::array<const char*, 4> memory_names{"L1", "L2", "L3", "DRAM"};

// Half a cache, so that nothing else evicts it; four times the last cache is in main memory.
std::size_t bytes_in(Memory memory) {
  const Caches sizes = caches();
  switch (memory) {
    case Memory::level1:
      return sizes.level1 / 2;
    case Memory::level2:
      return sizes.level2 / 2;
    case Memory::level3:
      return sizes.level3 / 2;
    case Memory::main:
      break;
  }
  return 4 * sizes.level3;
}

double numbers(std::int64_t set, std::size_t number_bytes) {
  const kernels::OnInstructionSet chosen(set);
  return HWY_DYNAMIC_DISPATCH(numbers_per_call)(number_bytes);
}

// Sums of squares of 1 / 2 and quotients by 1 stay ordinary numbers.
template <class T, class Call>
void add_rate(Plan& plan, const std::string& name, std::int64_t set, T argument, const Call& call) {
  plan.measure({.name = name,
                .unit = "ns per number",
                .scale = 1e9 / numbers(set, sizeof(T)),
                .run = [set, argument, call](benchmark::State& state) {
                  const kernels::OnInstructionSet chosen(set);
                  T value = argument;
                  benchmark::DoNotOptimize(value);
                  for (auto _ : state) benchmark::DoNotOptimize(call(value));
                }});
}

void add_memory(Plan& plan, Memory memory, std::int64_t set) {
  const std::size_t bytes = bytes_in(memory);
  plan.measure({.name = memory_ceiling(memory, set),
                .unit = "ns per byte",
                .scale = 1e9 / static_cast<double>(bytes),
                .run = [bytes, set](benchmark::State& state) {
                  const kernels::OnInstructionSet chosen(set);
                  const std::vector<float> values(bytes / sizeof(float), 1);
                  for (auto _ : state) {
                    benchmark::DoNotOptimize(
                        HWY_DYNAMIC_DISPATCH(read)(values.data(), values.size()));
                  }
                }});
}

std::string name_of(const char* what, std::int64_t set) {
  return std::string("ceilings/") + what + "/" + hwy::TargetName(set);
}

}  // namespace

Memory memory_of(std::size_t bytes) {
  const Caches sizes = caches();
  if (bytes <= sizes.level1) return Memory::level1;
  if (bytes <= sizes.level2) return Memory::level2;
  return bytes <= sizes.level3 ? Memory::level3 : Memory::main;
}

std::string operations_ceiling(const char* number_type, std::int64_t instruction_set) {
  return name_of((std::string("operations/") + number_type).c_str(), instruction_set);
}
std::string divisions_ceiling(const char* number_type, std::int64_t instruction_set) {
  return name_of((std::string("divisions/") + number_type).c_str(), instruction_set);
}
std::string memory_ceiling(Memory memory, std::int64_t instruction_set) {
  return name_of(memory_names[static_cast<std::size_t>(memory)], instruction_set);
}

void add_ceilings(Plan& plan, std::int64_t instruction_set) {
  const auto set = instruction_set;
  add_rate(plan, operations_ceiling("float", set), set, 0.5F,
           [](float x) { return HWY_DYNAMIC_DISPATCH(operations_float)(x); });
  add_rate(plan, operations_ceiling("double", set), set, 0.5,
           [](double x) { return HWY_DYNAMIC_DISPATCH(operations_double)(x); });
  add_rate(plan, divisions_ceiling("float", set), set, 1.0F,
           [](float x) { return HWY_DYNAMIC_DISPATCH(divisions_float)(x); });
  add_rate(plan, divisions_ceiling("double", set), set, 1.0,
           [](double x) { return HWY_DYNAMIC_DISPATCH(divisions_double)(x); });
  for (const Memory memory : {Memory::level1, Memory::level2, Memory::level3, Memory::main}) {
    add_memory(plan, memory, set);
  }
}

}  // namespace dma::bench
#endif
