#include <dma/base/arrays.h>

#include <dma/base/error.h>

namespace dma {
template <class T>
void Arrays::put(const std::string& name, std::vector<T> numbers) {
  const std::size_t size = numbers.size();
  put(name, std::move(numbers), {size});
}

template <class T>
void Arrays::put(const std::string& name, std::vector<T> numbers, std::vector<std::size_t> shape) {
  put(name, Array{std::move(numbers), std::move(shape)});
}

void Arrays::put(const std::string& name, Array array) {
  arrays_.insert_or_assign(name, std::move(array));
}

void Arrays::put(const std::string& prefix, const Arrays& others) {
  for (const auto& [name, array] : others.arrays_) put(prefix + name, array);
}

std::size_t Arrays::size(const std::string& name) const {
  return std::visit([](const auto& numbers) { return numbers.size(); }, arrays_.at(name).numbers);
}

void Arrays::refuse(const std::string& name) const {
  throw NetworkError("array '" + prefix_ + name +
                     "' does not have the type or shape that the model needs");
}

template <class T>
std::vector<T> Arrays::take(const std::string& name, const std::vector<std::size_t>& shape) {
  const auto found = arrays_.find(name);
  if (found != arrays_.end() && found->second.shape != shape) refuse(name);
  return take<T>(name);
}

template <class T>
std::vector<T> Arrays::take(const std::string& name) {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) throw NetworkError("has no array '" + prefix_ + name + "'");
  auto* numbers = std::get_if<std::vector<T>>(&found->second.numbers);
  if (numbers == nullptr) refuse(name);
  std::vector<T> result = std::move(*numbers);
  arrays_.erase(found);
  return result;
}

Arrays Arrays::take_part(const std::string& prefix) {
  Arrays part(prefix_ + prefix);
  auto next = arrays_.lower_bound(prefix);
  while (next != arrays_.end() && next->first.starts_with(prefix)) {
    part.arrays_.emplace(next->first.substr(prefix.size()), std::move(next->second));
    next = arrays_.erase(next);
  }
  return part;
}

template void Arrays::put(const std::string&, std::vector<double>);
template void Arrays::put(const std::string&, std::vector<float>);
template void Arrays::put(const std::string&, std::vector<std::uint64_t>);
template void Arrays::put(const std::string&, std::vector<double>, std::vector<std::size_t>);
template void Arrays::put(const std::string&, std::vector<float>, std::vector<std::size_t>);
template void Arrays::put(const std::string&, std::vector<std::uint64_t>, std::vector<std::size_t>);
template std::vector<double> Arrays::take(const std::string&, const std::vector<std::size_t>&);
template std::vector<float> Arrays::take(const std::string&, const std::vector<std::size_t>&);
template std::vector<std::uint64_t> Arrays::take(const std::string&,
                                                 const std::vector<std::size_t>&);
template std::vector<double> Arrays::take(const std::string&);
template std::vector<float> Arrays::take(const std::string&);
template std::vector<std::uint64_t> Arrays::take(const std::string&);

}  // namespace dma
