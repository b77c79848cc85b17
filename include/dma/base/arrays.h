// base/arrays.h: named arrays of numbers: how a belief is stored, in a file or elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace dma {

struct Array {
  using Numbers = std::variant<std::vector<double>, std::vector<float>, std::vector<std::uint64_t>>;

  Numbers numbers;
  std::vector<std::size_t> shape;
};

class Arrays {
 public:
  Arrays() = default;
  // Prefix that the names have where the arrays come from; used in error messages.
  explicit Arrays(std::string prefix) : prefix_(std::move(prefix)) {}

  // T is double, float or std::uint64_t. Without a shape it is a list.
  template <class T>
  void put(const std::string& name, std::vector<T> numbers);
  template <class T>
  void put(const std::string& name, std::vector<T> numbers, std::vector<std::size_t> shape);
  void put(const std::string& name, double number) { put(name, std::vector<double>{number}); }
  // Adds all arrays of another, under this prefix.
  void put(const std::string& prefix, const Arrays& others);

  bool has(const std::string& name) const { return arrays_.contains(name); }
  // How many numbers an array has that is there.
  std::size_t size(const std::string& name) const;
  // Removes and returns an array. Throws NetworkError if it is missing or has another type or shape.
  template <class T>
  std::vector<T> take(const std::string& name, const std::vector<std::size_t>& shape);
  // The same for a list of any length.
  template <class T>
  std::vector<T> take(const std::string& name);
  double take_number(const std::string& name) { return take<double>(name, {1}).front(); }
  void put(const std::string& name, Array array);
  // Removes and returns all arrays whose name has this prefix, without the prefix.
  Arrays take_part(const std::string& prefix);

  bool empty() const { return arrays_.empty(); }
  auto begin() const { return arrays_.begin(); }
  auto end() const { return arrays_.end(); }

 private:
  [[noreturn]] void refuse(const std::string& name) const;

  std::string prefix_;
  std::map<std::string, Array> arrays_;
};

}  // namespace dma
