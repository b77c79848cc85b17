#include <iostream>

#include <dma/dma.h>

// Templates of the headers, functions of the compiled library, and an error that crosses from it.
int main() {
  dma::Graph graph;
  const auto x = graph.variable("x");
  graph.add(dma::Prior{3, 2}, x);
  std::cout << "mean " << graph.sweep().marginal(x).mean() << '\n';
  try {
    graph.variable("x");
  } catch (const dma::GraphError&) {
    std::cout << "caught\n";
  }
}
