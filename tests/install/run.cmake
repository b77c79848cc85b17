# Installs BUILD_DIR below SCRATCH_DIR, builds the consumer beside this file against it, runs it.
set(prefix "${SCRATCH_DIR}/prefix")
set(consumer "${SCRATCH_DIR}/consumer")
string(REPLACE ";" " " flags "${FLAGS}")
file(REMOVE_RECURSE "${SCRATCH_DIR}")

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${consumer}" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${flags}")
run("${CMAKE_COMMAND}" --build "${consumer}")

execute_process(COMMAND "${consumer}/consumer" OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(NOT output STREQUAL "mean 3\ncaught\n")
  message(FATAL_ERROR "The consumer printed '${output}' instead of 'mean 3' and 'caught'")
endif()
