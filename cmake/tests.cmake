# Every *_test.cc stands beside the code that it tests. Each top folder has one executable with all its tests. Every Catch2 test case is
# a test of CTest, so test cases run in parallel and fail by name. Every *_test.py is one test.

find_package(Catch2 QUIET)
if(NOT Catch2_FOUND)
  message(STATUS "Catch2 is not installed: no tests in this build")
  return()
endif()
include(Catch)

# Tests use Debian's own interpreter, to which the Python packages of cmake/setup.sh belong.
find_program(LATCHLAB_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(LATCHLAB_PYTHON python3 REQUIRED)
mark_as_advanced(LATCHLAB_PYTHON)

# The base of all tests: Catch2 with its main, and the tools of src/testing.
file(GLOB testing_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/testing/*.cc")
list(FILTER testing_sources EXCLUDE REGEX "(_test|/fuzz_main|/fuzzing)\\.cc$")
add_library(latchlab_testing OBJECT ${testing_sources})
target_compile_options(latchlab_testing PRIVATE ${latchlab_warnings})
target_link_libraries(latchlab_testing PUBLIC latchlab Catch2::Catch2)
# Tests call an operation at many places, and a copy of its code at each would take half of the time to compile. So for them no function
# asks to be inlined.
target_compile_definitions(latchlab_testing PUBLIC always_inline=unused)
set(testing_paths
  "LATCHLAB_HARNESS_BINARY=\"$<TARGET_FILE:harness>\""
  "LATCHLAB_SOURCE_FOLDER=\"${PROJECT_SOURCE_DIR}\""
  "LATCHLAB_PYTHON=\"${LATCHLAB_PYTHON}\""
  "LATCHLAB_BUILD_FOLDER=\"${PROJECT_BINARY_DIR}\"")
# Catch2 itself is neither measured nor under test.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/testing/catch_main.cc" PROPERTIES
  COMPILE_DEFINITIONS "${testing_paths}" COMPILE_OPTIONS "-O0;-fno-sanitize=all")
# Catch2's header takes up to a quarter of the time to compile a test. Two files do without the precompiled header: Catch2's own main,
# and a file in which g++ 12 would then warn of an overflow that does not exist.
target_precompile_headers(latchlab_testing PRIVATE "${PROJECT_SOURCE_DIR}/src/testing/catch.h")
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/testing/catch_main.cc" "${PROJECT_SOURCE_DIR}/src/testing/key_patterns.cc"
  PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

# Some tests find nothing under a sanitizer, so its lane leaves them out:
#   tests by the race finder   Its fibers share one thread, in which TSan sees no race, and one arena, which AddressSanitizer does not
#                              check; the finder itself tracks what is freed. It does not track the bounds of an array in a node, so
#                              the address lane keeps one file of each index, and ART's scouts. Those of sized values and of modify
#                              use the same nodes, and compile for over a minute each.
#   seeded_threads             These tests find seeded bugs by their histories; a sanitizer would report the bug before.
#   tests without a thread     TSan finds nothing in them. It keeps those of sync, whose helpers start threads, and those that start some.
set(test_spec "")
if(LATCHLAB_SANITIZE MATCHES "address")
  set(test_spec "~[release]~[no-asan]")
elseif(LATCHLAB_SANITIZE MATCHES "thread")
  set(test_spec "~[release]~[no-tsan]")
endif()
set(left_out "^$")
if(LATCHLAB_SANITIZE MATCHES "thread")
  set(left_out "(race_[a-z0-9]+|[a-z]+_race|seeded_threads)_test[.]cc$")
elseif(LATCHLAB_SANITIZE MATCHES "address")
  set(left_out "^indexes/.*(race_(hybrid|locks|rowex|rtm|seeded|striped)|(modify|sized)_race|seeded_threads)_test[.]cc$|^sync/.*_race_test[.]cc$")
endif()

# CMake garbles a name with an unbalanced bracket. Such a test would select nothing and pass; NoTests makes it fail.
set(fails_without_tests EXTRA_ARGS --warn NoTests)

# Removes the test files from the list that LATCHLAB_TEST_FILES does not name, unless it is empty.
function(latchlab_keep_wanted list)
  if(LATCHLAB_TEST_FILES)
    set(kept "")
    foreach(file IN LISTS ${list})
      if(file IN_LIST LATCHLAB_TEST_FILES)
        list(APPEND kept ${file})
      endif()
    endforeach()
    set(${list} "${kept}" PARENT_SCOPE)
  endif()
endfunction()

# Removes the test files from the list that start no thread, themselves or by a run of the harness.
function(latchlab_keep_threaded list)
  set(kept "")
  foreach(file IN LISTS ${list})
    file(STRINGS "${PROJECT_SOURCE_DIR}/${file}" found REGEX
      "std::j?thread|std::async|Team|run_trial|run_on|trial_testing|threads_history" LIMIT_COUNT 1)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
    if(found)
      list(APPEND kept ${file})
    endif()
  endforeach()
  set(${list} "${kept}" PARENT_SCOPE)
endfunction()

# latchlab_add_tests(FOLDER LIBRARY...) makes the executable FOLDER_test, linked with these libraries.
function(latchlab_add_tests folder)
  file(GLOB_RECURSE sources RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*_test.cc")
  list(FILTER sources EXCLUDE REGEX "${left_out}")
  if(LATCHLAB_SANITIZE MATCHES "thread" AND NOT folder STREQUAL "sync")
    latchlab_keep_threaded(sources)
  endif()
  # They run in a build with UCX, which .ci/run makes.
  if(NOT TARGET latchlab::ucx)
    list(FILTER sources EXCLUDE REGEX "/ucx_[a-z_]+_test[.]cc$")
  endif()
  latchlab_keep_wanted(sources)
  if(NOT sources)
    return()
  endif()
  # These compile for a minute with the optimizer and for half of it without, and run for a second.
  set(unoptimized "${sources}")
  list(FILTER unoptimized INCLUDE REGEX
    "^indexes/(art/scan|by_hash|clock_hand|modify_batch|sized|sized_failure|sized_modify|walk|walk_failure)_test[.]cc$|^sync/policies_test[.]cc$")
  # Without the optimizer races compile in a third of the time, which saves more than they then take longer. The searches for seeded bugs
  # run for longer than they compile. Other flags than -O2 are kept: .ci/coverage asks for -O0.
  if(CMAKE_CXX_FLAGS_RELEASE MATCHES "-O2")
    set(races "${sources}")
    list(FILTER races INCLUDE REGEX "(race_[a-z0-9]+|[a-z]+_race)_test[.]cc$")
    set(searches "${races}")
    list(FILTER searches INCLUDE REGEX "race_seeded_test[.]cc$")
    list(FILTER races EXCLUDE REGEX "race_seeded_test[.]cc$")
    list(APPEND unoptimized ${races})
    set_source_files_properties(${searches} PROPERTIES COMPILE_OPTIONS -O1)
  endif()
  # Without the optimizer a test may call the atomic code of std::shared_ptr in a library that TSan does not see.
  if(NOT LATCHLAB_SANITIZE MATCHES "thread")
    set_source_files_properties(${unoptimized} PROPERTIES COMPILE_OPTIONS -O0 SKIP_PRECOMPILE_HEADERS ON)
  endif()
  # What these count is what users run, so it is inlined as there.
  set(counted "${sources}")
  list(FILTER counted INCLUDE REGEX "(executed|codegen)_test[.]cc$")
  set_source_files_properties(${counted} PROPERTIES COMPILE_OPTIONS -Ualways_inline SKIP_PRECOMPILE_HEADERS ON)
  set(target ${folder}_test)
  add_executable(${target} ${sources})
  target_compile_options(${target} PRIVATE ${latchlab_warnings})
  target_link_libraries(${target} PRIVATE latchlab_testing ${ARGN})
  if(folder MATCHES "^(harness|workloads)$")
    latchlab_unity(${target} ${sources})
  endif()
  # Tests of the harness and of the library measure nothing, and the optimizer would take half of the time to compile.
  if(folder STREQUAL "harness")
    target_compile_options(${target} PRIVATE -O0)
    target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/testing/catch.h" <fmt/format.h> <nlohmann/json.hpp>)
  elseif(folder MATCHES "^(library|services)$" AND NOT LATCHLAB_SANITIZE MATCHES "thread")
    target_compile_options(${target} PRIVATE -O0)
    target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/testing/catch.h")
  else()
    target_precompile_headers(${target} REUSE_FROM latchlab_testing)
  endif()
  # Tests also run the harness, so it must be built even if only a test executable is asked for. Tests need not wait for it to be compiled,
  # as they would by add_dependencies.
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:harness>)
  # [program]: not a test, but what a test starts.
  set(elsewhere "~[all]~[threads]~[program]")
  if(folder STREQUAL "harness")
    string(APPEND elsewhere "~[realtime]")
  endif()
  catch_discover_tests(${target} TEST_PREFIX "${folder}/" TEST_SPEC "${test_spec}${elsewhere}"
    ${fails_without_tests}
    PROPERTIES LABELS ${folder} TIMEOUT 600)
endfunction()

latchlab_add_tests(src latchlab)
latchlab_add_tests(sync latchlab)
latchlab_add_tests(workloads latchlab)
latchlab_add_tests(indexes harness_pairs latchlab::harness)
latchlab_add_tests(library latchlab::map)
latchlab_add_tests(harness harness_pairs latchlab::harness)
latchlab_add_tests(services latchlab_server)

# Tests in which threads pass locks around take several times as long beside another test, so they have the machine to themselves. They
# run first, when they need not wait for other tests to end.
if(TARGET indexes_test)
  catch_discover_tests(indexes_test TEST_PREFIX "indexes/" TEST_SPEC "${test_spec}[threads]" ${fails_without_tests}
    PROPERTIES LABELS indexes TIMEOUT 600 RUN_SERIAL TRUE COST 2000)
endif()

# Tests of the harness that run for a time rather than a number of operations, and so need all processors: ctest -L realtime
if(TARGET harness_test)
  catch_discover_tests(harness_test TEST_PREFIX "harness/" TEST_SPEC "${test_spec}[realtime]" ${fails_without_tests}
    PROPERTIES LABELS realtime TIMEOUT 600 RUN_SERIAL TRUE)
endif()

# The example programs of the map, each of which checks itself.
file(GLOB examples RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/library/examples/*.cc")
latchlab_keep_wanted(examples)
foreach(example IN LISTS examples)
  get_filename_component(name "${example}" NAME_WE)
  add_executable(example_${name} "${example}")
  target_compile_options(example_${name} PRIVATE ${latchlab_warnings})
  target_link_libraries(example_${name} PRIVATE latchlab::map)
  add_test(NAME "${example}" COMMAND example_${name})
  set_tests_properties("${example}" PROPERTIES LABELS library TIMEOUT 600)
endforeach()

# Under AddressSanitizer, parsers also read wrong input. No other script finds more under a sanitizer.
if(LATCHLAB_SANITIZE MATCHES "address")
  set(wrong_input harness/smoke/wrong_input_test.py)
  add_test(NAME ${wrong_input} COMMAND "${LATCHLAB_PYTHON}" "${PROJECT_SOURCE_DIR}/${wrong_input}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${wrong_input} PROPERTIES TIMEOUT 600 COST 900 ENVIRONMENT "LATCHLAB_HARNESS=$<TARGET_FILE:harness>")
endif()

# The server of ./bench serve, with the stores that its tests run.
set(tested_stores cuckoo:olc art:rowex memc3:rwspin simdht:spin)
if(LATCHLAB_SANITIZE)
  # The scripts of services/ run it under a sanitizer if LATCHLAB_SERVER names it. All take four minutes, so CTest does not.
  latchlab_add_server(server_tested PAIRS ${tested_stores})
  set_target_properties(server_tested PROPERTIES EXCLUDE_FROM_ALL ON)
  return()
endif()

# Tests that take too long for every change: ./test --all
if(TARGET indexes_test)
  catch_discover_tests(indexes_test TEST_PREFIX "all/" TEST_SPEC "[all]" ${fails_without_tests}
    PROPERTIES LABELS all TIMEOUT 3600)
endif()

file(GLOB_RECURSE scripts RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*_test.py"
  "${PROJECT_SOURCE_DIR}/indexes/*_test.py" "${PROJECT_SOURCE_DIR}/workloads/*_test.py"
  "${PROJECT_SOURCE_DIR}/harness/*_test.py" "${PROJECT_SOURCE_DIR}/experiments/*_test.py"
  "${PROJECT_SOURCE_DIR}/services/*_test.py" "${PROJECT_SOURCE_DIR}/cmake/*_test.py" "${PROJECT_SOURCE_DIR}/docs/*_test.py")
latchlab_keep_wanted(scripts)
if(NOT LATCHLAB_CCACHE)
  list(REMOVE_ITEM scripts cmake/ccache_test.py)
endif()
# .ci/slurm runs it with a module of PyPI. It starts a cluster, whose daemons need the processors.
if("experiments/slurm_test.py" IN_LIST scripts)
  list(REMOVE_ITEM scripts experiments/slurm_test.py)
  add_test(NAME experiments/slurm_test.py COMMAND "${PROJECT_SOURCE_DIR}/.ci/slurm" --no-install)
  set_tests_properties(experiments/slurm_test.py PROPERTIES LABELS all RUN_SERIAL TRUE TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
set(harnesses "LATCHLAB_HARNESS=$<TARGET_FILE:harness>")
# The harness of ./bench --machine=NAME, with the pairs that its tests run.
if(scripts MATCHES "modelled_machine_test[.]py|large_modelled_test[.]py")
  latchlab_add_harness(harness_modelled INDEXES art null MACHINE Modelled PAIRS art:none art:rtm art:hle null:none)
  list(APPEND harnesses "LATCHLAB_MODELLED_HARNESS=$<TARGET_FILE:harness_modelled>")
endif()
if(scripts MATCHES "services/|multiget_test[.]py")
  latchlab_add_server(server_tested PAIRS ${tested_stores})
  list(APPEND harnesses "LATCHLAB_SERVER=$<TARGET_FILE:server_tested>")
endif()
if("experiments/vectors_test.py" IN_LIST scripts)
  set_target_properties(vectors_bench PROPERTIES EXCLUDE_FROM_ALL OFF)
  list(APPEND harnesses "LATCHLAB_VECTORS_BENCH=$<TARGET_FILE:vectors_bench>")
endif()
if(scripts MATCHES "services/rocksdb/db_bench_test[.]py|experiments/tier_test[.]py" AND TARGET rocksdb_tier)
  set_target_properties(rocksdb_tier PROPERTIES EXCLUDE_FROM_ALL OFF)
  list(APPEND harnesses "LATCHLAB_ROCKSDB_TIER=$<TARGET_FILE:rocksdb_tier>")
endif()
if("services/elide/elide_test.py" IN_LIST scripts)
  set_target_properties(latchlab_elide latchlab_elide_probe locks_program locks_module PROPERTIES EXCLUDE_FROM_ALL OFF)
  list(APPEND harnesses "LATCHLAB_ELIDE_BUILD=$<TARGET_FILE_DIR:latchlab_elide>")
endif()
if("experiments/slabs_test.py" IN_LIST scripts)
  set_target_properties(slab_trace PROPERTIES EXCLUDE_FROM_ALL OFF)
  list(APPEND harnesses "LATCHLAB_SLAB_TRACE=$<TARGET_FILE:slab_trace>")
endif()
foreach(name IN LISTS scripts)
  add_test(NAME ${name} COMMAND "${LATCHLAB_PYTHON}" "${PROJECT_SOURCE_DIR}/${name}" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 COST 900 ENVIRONMENT "${harnesses}")
  if(name MATCHES "/realtime_test[.]py$")
    set_tests_properties(${name} PROPERTIES LABELS realtime RUN_SERIAL TRUE)
  endif()
endforeach()
# It needs librocksdb-dev, and db_bench of rocksdb-tools.
if("services/rocksdb/db_bench_test.py" IN_LIST scripts)
  set_tests_properties(services/rocksdb/db_bench_test.py PROPERTIES SKIP_RETURN_CODE 77)
endif()
# Three builds and twenty minutes of runs, for which it needs the processors.
if("experiments/ci_test.py" IN_LIST scripts)
  set_tests_properties(experiments/ci_test.py PROPERTIES LABELS all RUN_SERIAL TRUE TIMEOUT 7200 SKIP_RETURN_CODE 77)
endif()
# Measures for ten minutes, for which it needs the processors.
if("experiments/claims_test.py" IN_LIST scripts)
  set_tests_properties(experiments/claims_test.py PROPERTIES LABELS all RUN_SERIAL TRUE TIMEOUT 7200 SKIP_RETURN_CODE 77)
endif()
# A data set of the size that figures have, on a modelled machine: ten minutes, and up to 20 GB.
set(large harness/smoke/large_modelled_test.py)
if(large IN_LIST scripts)
  set_tests_properties(${large} PROPERTIES LABELS all RUN_SERIAL TRUE TIMEOUT 3600 SKIP_RETURN_CODE 77)
endif()
# It runs memcached, redis and their clients, as far as they are installed. It took 560 s on two processors.
set(conformance services/kv/conformance_test.py)
if(conformance IN_LIST scripts)
  set_tests_properties(${conformance} PROPERTIES LABELS all RUN_SERIAL TRUE TIMEOUT 1800)
endif()
# It opens 10,000 connections, and its clients ask for more than they read.
set(stress services/kv/stress_test.py)
if(stress IN_LIST scripts)
  set_tests_properties(${stress} PROPERTIES LABELS all RUN_SERIAL TRUE)
endif()
# It fetches a module of Go, and builds a checker of histories with it.
set(porcupine src/history/porcupine/porcupine_test.py)
if(porcupine IN_LIST scripts)
  set_tests_properties(${porcupine} PROPERTIES LABELS all SKIP_RETURN_CODE 77)
endif()
# It needs an ssh server and parallel, which start two hosts on this machine.
if("experiments/hosts_test.py" IN_LIST scripts)
  set_tests_properties(experiments/hosts_test.py PROPERTIES LABELS all RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
endif()
# To run it alone: ctest -L emulated. The emulator keeps one processor busy for its guest, and at times another for its devices. Beside
# other tests it would come close to its timeout.
if("harness/smoke/emulated_machine_test.py" IN_LIST scripts)
  set_tests_properties(harness/smoke/emulated_machine_test.py PROPERTIES LABELS emulated SKIP_RETURN_CODE 77 PROCESSORS 2)
endif()

# The target headers_alone, which .ci/run builds, checks that every header compiles alone. A header that is the first include of its own
# .cc needs no further check if that .cc is compiled alone. The check covers the syntax, of headers that have changed.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.h" "${PROJECT_SOURCE_DIR}/sync/*.h"
  "${PROJECT_SOURCE_DIR}/indexes/*.h" "${PROJECT_SOURCE_DIR}/library/*.h" "${PROJECT_SOURCE_DIR}/workloads/*.h" "${PROJECT_SOURCE_DIR}/harness/*.h"
  "${PROJECT_SOURCE_DIR}/services/*.h")
if(NOT TARGET latchlab::ucx)
  list(FILTER headers EXCLUDE REGEX "/ucx_channel[.]h$")
endif()
if(NOT TARGET rocksdb_tier)
  list(FILTER headers EXCLUDE REGEX "/services/rocksdb/secondary_cache[.]h$")
endif()
set(checked "")
add_library(header_flags OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/src/testing/catch_main.cc")
target_link_libraries(header_flags PRIVATE latchlab::harness Catch2::Catch2)
set(includes "$<TARGET_PROPERTY:header_flags,INCLUDE_DIRECTORIES>")
foreach(header IN LISTS headers)
  file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}" "${header}")
  string(REGEX REPLACE "h$" "cc" own_source "${header}")
  if(NOT LATCHLAB_UNITY AND (own_source IN_LIST library_sources OR own_source IN_LIST harness_sources))
    file(STRINGS "${own_source}" first_include REGEX "^ *#" LIMIT_COUNT 1)
    if(first_include STREQUAL "#include \"${name}\"")
      continue()
    endif()
  endif()
  set(stamp "${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.ok")
  get_filename_component(folder "${stamp}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  # An empty file includes the header. Compiling the header itself would warn of #pragma once.
  add_custom_command(OUTPUT "${stamp}"
    COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 ${latchlab_target_flags} ${latchlab_warnings} -Werror -fsyntax-only
      "-I$<JOIN:$<FILTER:${includes},EXCLUDE,^/usr/include$>,;-I>"
      -MD -MF "${stamp}.d" -MT "${stamp}" -include "${header}" -x c++ /dev/null
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS "${header}" DEPFILE "${stamp}.d" COMMAND_EXPAND_LISTS VERBATIM COMMENT "Compiling ${name} alone")
  list(APPEND checked "${stamp}")
endforeach()
add_custom_target(headers_alone DEPENDS ${checked})

if(LATCHLAB_TEST_FILES)
  return()
endif()

add_test(NAME "help texts" COMMAND ${latchlab_help_texts_check})

# Tests the installed package: the installed example, a project of its own, builds against it, by CMake and by hand.
add_test(NAME "installed package"
  COMMAND "${CMAKE_COMMAND}" -D "BUILD_DIR=${PROJECT_BINARY_DIR}" -D "MANUAL=${PROJECT_SOURCE_DIR}/docs/extending.md"
    -D "SCRATCH=${CMAKE_CURRENT_BINARY_DIR}/installed" -D "CXX=${CMAKE_CXX_COMPILER}"
    -D "TARGET_FLAGS=${latchlab_target_flags}"
    -P "${PROJECT_SOURCE_DIR}/cmake/installed_test.cmake")
set_tests_properties("installed package" PROPERTIES TIMEOUT 600 COST 1000)

# If Doxygen is installed, comments that it does not understand fail this test.
if(LATCHLAB_DOXYGEN)
  add_test(NAME "API reference" COMMAND "${LATCHLAB_DOXYGEN}" Doxyfile WORKING_DIRECTORY "${PROJECT_BINARY_DIR}")
endif()
