#include <iostream>

#include <dma/dma.h>

int main() {
  const auto belief = dma::Gaussian<double>::from_moments(3, 2);
  std::cout << "mean " << belief.mean() << '\n';
}
