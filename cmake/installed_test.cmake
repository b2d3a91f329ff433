# Installs BUILD_DIR into SCRATCH/prefix, builds the project CONSUMER against it in SCRATCH/build, and runs that
# project's own tests.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
set(ENV{CTEST_OUTPUT_ON_FAILURE} 1)
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${SCRATCH}/prefix")
run("${CMAKE_COMMAND}" -G Ninja -S "${CONSUMER}" -B "${SCRATCH}/build" -D CMAKE_BUILD_TYPE=Release
  -D "CMAKE_PREFIX_PATH=${SCRATCH}/prefix" -D "CMAKE_CXX_COMPILER=${CXX}")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build" --parallel 2)
run(ctest --test-dir "${SCRATCH}/build" --no-tests=error)
