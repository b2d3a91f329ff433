# Installs BUILD_DIR into SCRATCH/prefix, looks at the headers there, builds the project CONSUMER against it in
# SCRATCH/build, and runs that project's own tests.

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

# All headers in one translation unit: that each compiles alone is tested where they come from, so what is left to find
# out is whether one of them needs a header that was not installed.
set(include_root "${SCRATCH}/prefix/include/latchlab")
file(GLOB_RECURSE headers RELATIVE "${include_root}" "${include_root}/*.h")
if(NOT headers)
  message(FATAL_ERROR "no headers in ${include_root}")
endif()
set(includes "")
foreach(header IN LISTS headers)
  if(header MATCHES "test|toy")
    message(FATAL_ERROR "a header for tests was installed: ${header}")
  endif()
  string(APPEND includes "#include \"${header}\"\n")
endforeach()
file(WRITE "${SCRATCH}/all_headers.cc" "${includes}")
run("${CXX}" -std=c++20 ${TARGET_FLAGS} "-I${include_root}" -fsyntax-only "${SCRATCH}/all_headers.cc")

run("${CMAKE_COMMAND}" -G Ninja -S "${CONSUMER}" -B "${SCRATCH}/build" -D CMAKE_BUILD_TYPE=Release
  -D "CMAKE_PREFIX_PATH=${SCRATCH}/prefix" -D "CMAKE_CXX_COMPILER=${CXX}")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build" --parallel 2)
run(ctest --test-dir "${SCRATCH}/build" --no-tests=error)
