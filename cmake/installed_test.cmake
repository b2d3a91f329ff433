# Tests the installed package in seven steps:
#   1. Install BUILD_DIR into SCRATCH/prefix.
#   2. Check that no header is missing there.
#   3. Build the installed example against it, in SCRATCH/build.
#   4. Run the example's own tests.
#   5. Compile the example's program by the g++ command of MANUAL, without CMake.
#   6. Build the installed examples of the map, and run them.
#   7. Compile one of them by the words of pkg-config.

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
foreach(name lib/systemd/system/latchlab-kv.service share/man/man1/harness.1 share/bash-completion/completions/harness)
  if(NOT EXISTS "${SCRATCH}/prefix/${name}")
    message(FATAL_ERROR "${name} was not installed")
  endif()
endforeach()

# One translation unit includes all headers, to find one that needs a header which was not installed. That each header compiles alone
# is tested in the source tree (headers_alone).
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

# The build uses a copy, as a user would: everything that the example needs of its own folder must be installed.
set(example "${SCRATCH}/example")
file(COPY "${SCRATCH}/prefix/share/latchlab/example" DESTINATION "${SCRATCH}")
run("${CMAKE_COMMAND}" -G Ninja -S "${example}" -B "${SCRATCH}/build" -D CMAKE_BUILD_TYPE=Release
  -D "CMAKE_PREFIX_PATH=${SCRATCH}/prefix" -D "CMAKE_CXX_COMPILER=${CXX}")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build" --parallel 2)
run(ctest --test-dir "${SCRATCH}/build" --no-tests=error)
execute_process(COMMAND readelf -d "${SCRATCH}/build/program" OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
if(NOT dynamic MATCHES "NOW")
  message(FATAL_ERROR "latchlab::latchlab does not carry -z now: ${dynamic}")
endif()

# The command stands in the one block of the manual that begins with `$ g++`.
file(READ "${MANUAL}" manual)
if(NOT manual MATCHES "```console\n[$] g[+][+] ([^`]*)\n```")
  message(FATAL_ERROR "${MANUAL} has no block that begins with `$ g++`")
endif()
string(REPLACE "~/.local" "${SCRATCH}/prefix" by_hand "${CMAKE_MATCH_1}")
string(REGEX REPLACE "[\\]\n" " " by_hand "${by_hand}")
separate_arguments(by_hand UNIX_COMMAND "${by_hand}")
execute_process(COMMAND "${CXX}" ${by_hand} WORKING_DIRECTORY "${example}" COMMAND_ERROR_IS_FATAL ANY)
run("${example}/program")

# Without the flags, the error message names them in one line.
list(FILTER by_hand EXCLUDE REGEX "^-m")
execute_process(COMMAND "${CXX}" ${by_hand} WORKING_DIRECTORY "${example}" RESULT_VARIABLE status ERROR_VARIABLE message)
if(status EQUAL 0 OR NOT message MATCHES "compile with -mrtm -mtsxldtrk -mcx16 -msse4.2 -mpopcnt")
  message(FATAL_ERROR "g++ without the flags, status ${status}, says: ${message}")
endif()

# The examples of the map. The project names none of the compiler's flags.
set(map_examples "${SCRATCH}/map_examples")
file(COPY "${SCRATCH}/prefix/share/latchlab/map_examples" DESTINATION "${SCRATCH}")
run("${CMAKE_COMMAND}" -G Ninja -S "${map_examples}" -B "${SCRATCH}/map_build" -D CMAKE_BUILD_TYPE=Release
  -D "CMAKE_PREFIX_PATH=${SCRATCH}/prefix" -D "CMAKE_CXX_COMPILER=${CXX}")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/map_build" --parallel 2)
run(ctest --test-dir "${SCRATCH}/map_build" --no-tests=error)

file(GLOB_RECURSE pc "${SCRATCH}/prefix/*/latchlab.pc")
cmake_path(GET pc PARENT_PATH pc_folder)
set(ENV{PKG_CONFIG_PATH} "${pc_folder}")
execute_process(COMMAND pkg-config --cflags --libs latchlab OUTPUT_VARIABLE words COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(words UNIX_COMMAND "${words}")
run("${CXX}" -std=c++20 -O2 "${map_examples}/word_count.cc" -o "${SCRATCH}/by_pkg_config" ${words})
run("${SCRATCH}/by_pkg_config")
