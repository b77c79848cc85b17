# dma_test(<part>/<name>_test.cc [THREADS] [LINK <library>...]): one executable and one ctest, called
# <part>/<name>. THREADS: it runs something on several threads, so that the thread sanitizer may find
# something. The target dma_tests_with_threads builds all of these, ctest -L threads runs them.
#
# A test is the whole executable. gtest_discover_tests would make a ctest of every case, but it runs
# each executable during the build to list them and starts a process per case, both slow under a
# sanitizer. To run one case: build/<preset>/tests/<part>_<name>_test --gtest_filter=Suite.Case
include_guard()

find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED CONFIG)
find_package(Eigen3 REQUIRED)
find_package(Boost 1.74 REQUIRED)

# RapidCheck draws a new seed in every run unless told: a test has to give the same answer twice.
# Run an executable by hand to explore other seeds.
set(DMA_RC_PARAMS "seed=1" CACHE STRING "RapidCheck's parameters under ctest (RC_PARAMS)")

set(DMA_SANITIZER_OPTIONS
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")

# Under the sanitizers or an emulation a program runs up to ten times slower.
set(DMA_TEST_TIMEOUT 300)
if(DMA_SANITIZE OR CMAKE_CROSSCOMPILING)
  set(DMA_TEST_TIMEOUT 1200)
endif()

add_custom_target(dma_tests_with_threads)

function(dma_test source)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS" "" LINK)
  string(REGEX REPLACE "_test\\.cc$" "" test "${source}")
  string(REPLACE "/" "_" target "${test}_test")

  add_executable(${target} "${source}")
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/tests"  # what tests share
    "${PROJECT_SOURCE_DIR}/src")   # a test may look inside the library
  target_link_libraries(${target} PRIVATE
    dma::dma dma_warnings GTest::gtest_main rapidcheck rapidcheck_gtest Eigen3::Eigen
    Boost::headers ${arg_LINK})
  target_compile_definitions(${target} PRIVATE DMA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(TARGET dma_cli)
    target_compile_definitions(${target} PRIVATE DMA_COMMAND="$<TARGET_FILE:dma_cli>")
  endif()

  # What is tested keeps its own level; tests spend their time there, and compile in two thirds of the time.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)

  # clang-tidy reads what is shipped; the tests are held to clang's warnings only, which halves lint.
  set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")

  add_test(NAME "${test}" COMMAND ${target})
  set_tests_properties("${test}" PROPERTIES
    ENVIRONMENT "RC_PARAMS=${DMA_RC_PARAMS};${DMA_SANITIZER_OPTIONS}"
    TIMEOUT ${DMA_TEST_TIMEOUT})
  if(arg_THREADS)
    set_tests_properties("${test}" PROPERTIES LABELS threads)
    add_dependencies(dma_tests_with_threads ${target})
  endif()
endfunction()
