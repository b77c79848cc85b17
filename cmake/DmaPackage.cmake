# Debian packages: dma (the command), libdma-dev (library, headers, find_package(dma)), python3-dma (the module).
# ./dev package makes them.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

# A package contains only its components and needs nothing else compiled.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dma)
set(CPACK_PACKAGE_CONTACT "the authors of dma <dma@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL command development)
if(TARGET dma_python)
  list(APPEND CPACK_COMPONENTS_ALL debian_python)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION math)
# Dependencies are read from the programs.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME dma)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION
  "Predictions that say how sure they are
 The command dma learns a table (CSV) and predicts with honest intervals; it also
 infers the marginals of a factor graph given as JSON.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libdma-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libhwy-dev, libtbb-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "Direct message approximation: library and headers
 Factor graphs whose messages are approximated directly, and Bayesian networks on
 top of them, for C++20.")

set(CPACK_DEBIAN_DEBIAN_PYTHON_PACKAGE_NAME python3-dma)
set(CPACK_DEBIAN_DEBIAN_PYTHON_PACKAGE_SECTION python)
if(TARGET dma_python)
  # The module is made for one minor version of Python.
  math(EXPR next_minor "${DMA_PYTHON_MINOR} + 1")
  set(CPACK_DEBIAN_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (>= 3.${DMA_PYTHON_MINOR}), python3 (<< 3.${next_minor}), python3-numpy, python3-sklearn")
  set(CPACK_DEBIAN_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pandas, python3-matplotlib")
endif()
set(CPACK_COMPONENT_DEBIAN_PYTHON_DESCRIPTION
  "Predictions that say how sure they are, in Python
 DMARegressor with scikit-learn's conventions, and factor graphs.")

include(CPack)
