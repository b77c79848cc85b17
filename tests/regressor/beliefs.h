// beliefs.h: what the members of a model are.
#pragma once

#include <dma/regressor/regressor.h>

namespace dma::test {

inline bool is_joint(const Model& model) {
  return dynamic_cast<const JointBelief*>(model.members.front().belief.get()) != nullptr;
}

inline const JointKnowledge& joint(const Model& model, std::size_t member) {
  return dynamic_cast<const JointBelief&>(*model.members.at(member).belief).knowledge();
}

template <class T>
bool is_independent(const Model& model) {
  return dynamic_cast<const IndependentBelief<T>*>(model.members.front().belief.get()) != nullptr;
}

template <class T>
const IndependentBelief<T>& independent(const Model& model, std::size_t member) {
  return dynamic_cast<const IndependentBelief<T>&>(*model.members.at(member).belief);
}

}  // namespace dma::test
