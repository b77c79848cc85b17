// data/effects.h: the values of a column that has many, each as one number: its effect on the target.
//
//   r_i = mean + u_v + e_i,   u_v ~ N(0, between^2),   e_i ~ N(0, within^2)
//
// r_i is what the other columns leave of the target of row i, which has the value v (regressor/effects.h). Of n_v rows, by
// their weights, the sum of r_i - mean is S_v. They say
//
//   E u_v = S_v / (n_v + ratio),   V u_v = between^2 ratio / (n_v + ratio),   ratio = within^2 / between^2
//
// which is 0 and between^2 for a value that there was no row of. A network takes both in units of `between`: the mean, and
// the standard deviation.
#pragma once

#include <vector>

namespace dma {

struct Effects {
  double between = 0;  // 0: the values do not differ
  double within = 1;
  std::vector<double> sums = {};  // S_v, value by value

  double ratio() const { return within * within / (between * between); }
};

// What is believed of the effect of one value, in units of `between`. Both are 0 if values do not differ.
struct Effect {
  double mean, deviation;
};
Effect effect_of(const Effects& effects, double weight, double sum);

}  // namespace dma
