# dma_tests(<part> <name>... [LINK <library>...] [DEPENDS <target>...]): one program, <part>_tests, of the files
# <part>/<name>_test.cc, and one ctest per file, called <part>/<name>. A name with a slash has its own folder:
# dma_tests(allocation graph/allocation) is the program allocation_tests with the ctest graph/allocation.
#
# dma_label(<label> <ctest>...): ctest -L <label> runs these. threads: it uses several threads, so the thread
# sanitizer may find something. check: ./dev test leaves it to ./dev check, because people wait for the former. figures:
# it measures how good results are, or repeats an experiment; ./dev check does not run it under the sanitizers.
#
# gtest_discover_tests would make a ctest of every case, but it runs each program during the build to list them and starts
# a process per case, both slow under a sanitizer. To run one case: build/<preset>/tests/<part>_tests --gtest_filter=...
include_guard()

find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED CONFIG)
find_package(Eigen3 REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(hwy REQUIRED)
find_package(TBB REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)

# RapidCheck draws a new seed in every run unless told otherwise, but a test must give the same result twice.
# Run a program by hand to explore other seeds.
set(DMA_RC_PARAMS "seed=1" CACHE STRING "RapidCheck's parameters under ctest (RC_PARAMS)")

set(DMA_SANITIZER_OPTIONS
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")

# Under a sanitizer or emulation, programs run up to ten times slower.
set(DMA_TEST_TIMEOUT 300)
if(DMA_SANITIZE OR CMAKE_CROSSCOMPILING)
  set(DMA_TEST_TIMEOUT 1200)
endif()

# Options of every test program.
add_library(dma_test_base INTERFACE)
target_include_directories(dma_test_base INTERFACE
  "${PROJECT_SOURCE_DIR}"        # cli/ and paper/, for tests of their internals
  "${PROJECT_SOURCE_DIR}/tests"  # what tests share
  "${PROJECT_SOURCE_DIR}/src")   # for tests of the library's internals
target_link_libraries(dma_test_base INTERFACE
  dma::dma dma_warnings GTest::gtest rapidcheck rapidcheck_gtest Eigen3::Eigen Boost::headers
  hwy::hwy TBB::tbb ZLIB::ZLIB nlohmann_json::nlohmann_json)
target_compile_definitions(dma_test_base INTERFACE DMA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
if(TARGET dma_cli)
  target_compile_definitions(dma_test_base INTERFACE DMA_COMMAND="$<TARGET_FILE:dma_cli>")
endif()
# The code under test keeps its own optimisation level; tests spend their time there, and compile in two thirds of the
# time.
target_compile_options(dma_test_base INTERFACE $<$<CONFIG:Release>:-O1>)

# A program without tests, whose precompiled headers all the others use.
set(DMA_TEST_MAIN "${PROJECT_SOURCE_DIR}/tests/main.cc")
add_executable(dma_test_headers "${DMA_TEST_MAIN}")
target_link_libraries(dma_test_headers PRIVATE dma_test_base)
target_precompile_headers(dma_test_headers PRIVATE
  <gtest/gtest.h> <rapidcheck.h> <rapidcheck/gtest.h> <algorithm> <cmath> <string> <vector>)
# clang-tidy checks what is shipped; tests only have to pass clang's warnings.
set_target_properties(dma_test_headers PROPERTIES CXX_CLANG_TIDY "" UNITY_BUILD OFF)

function(dma_tests part)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK;DEPENDS")
  set(program ${part}_tests)
  set(tests)
  foreach(name IN LISTS arg_UNPARSED_ARGUMENTS)
    if(NOT name MATCHES "/")
      set(name "${part}/${name}")
    endif()
    list(APPEND tests "${name}")
  endforeach()
  list(TRANSFORM tests APPEND "_test.cc" OUTPUT_VARIABLE sources)

  add_executable(${program} ${sources} "${DMA_TEST_MAIN}")
  target_link_libraries(${program} PRIVATE dma_test_base ${arg_LINK})
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)  # else CMake would still wait for that program, and so for the library
    target_precompile_headers(${program} REUSE_FROM dma_test_headers)
  endif()
  set_target_properties(${program} PROPERTIES CXX_CLANG_TIDY "" UNITY_BUILD OFF)
  if(arg_DEPENDS)
    add_dependencies(${program} ${arg_DEPENDS})
  endif()

  foreach(test IN LISTS tests)
    add_test(NAME "${test}" COMMAND ${program} "${test}")
    set_tests_properties("${test}" PROPERTIES
      ENVIRONMENT "RC_PARAMS=${DMA_RC_PARAMS};${DMA_SANITIZER_OPTIONS}"
      TIMEOUT ${DMA_TEST_TIMEOUT})
  endforeach()
endfunction()

function(dma_label label)
  foreach(test IN LISTS ARGN)
    set_property(TEST "${test}" APPEND PROPERTY LABELS ${label})
  endforeach()
endfunction()
