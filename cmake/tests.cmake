# Every *_test.cc stands beside the code that it tests and goes into one executable for each top folder; every Catch2
# test case is a test of CTest, so that they run in parallel and fail by name. *_test.py are tests of their own.

find_package(Catch2 QUIET)
if(NOT Catch2_FOUND)
  message(STATUS "Catch2 is not installed: no tests in this build")
  return()
endif()
include(Catch)

# Debian's own interpreter: the Python packages that setup installs belong to it.
find_program(LATCHLAB_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(LATCHLAB_PYTHON python3 REQUIRED)
mark_as_advanced(LATCHLAB_PYTHON)

# What tests stand on: Catch2 with its main, and the tools of src/testing.
file(GLOB testing_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/testing/*.cc")
list(FILTER testing_sources EXCLUDE REGEX "(_test|/fuzz_main|/fuzzing)\\.cc$")
add_library(latchlab_testing OBJECT ${testing_sources})
target_compile_options(latchlab_testing PRIVATE ${latchlab_warnings})
target_link_libraries(latchlab_testing PUBLIC latchlab Catch2::Catch2)
set(testing_paths
  "LATCHLAB_HARNESS_BINARY=\"$<TARGET_FILE:harness>\""
  "LATCHLAB_SOURCE_FOLDER=\"${PROJECT_SOURCE_DIR}\""
  "LATCHLAB_PYTHON=\"${LATCHLAB_PYTHON}\""
  "LATCHLAB_BUILD_FOLDER=\"${PROJECT_BINARY_DIR}\"")
# Catch2 itself is neither measured nor under test.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/testing/catch_main.cc" PROPERTIES
  COMPILE_DEFINITIONS "${testing_paths}" COMPILE_OPTIONS "-O0;-fno-sanitize=all")
# Catch2's header is up to a quarter of what compiling a test takes. Not for its own main, nor for a file in which g++ 12 then warns
# of an overflow that is not there.
target_precompile_headers(latchlab_testing PRIVATE "${PROJECT_SOURCE_DIR}/src/testing/catch.h")
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/testing/catch_main.cc" "${PROJECT_SOURCE_DIR}/src/testing/key_patterns.cc"
  PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

# What says nothing under a sanitizer is left out of its lane. The race finder's fibers share one thread, where the thread
# sanitizer sees no race, and one arena, into which the address sanitizer does not look: the finder knows itself what is freed. It
# does not know where an array within a node ends, so the address lane keeps one file of each index, and ART's scouts. Broken code on
# threads would be told by the sanitizer rather than by its history.
set(test_spec "")
if(LATCHLAB_SANITIZE MATCHES "address")
  set(test_spec "~[release]~[no-asan]")
elseif(LATCHLAB_SANITIZE MATCHES "thread")
  set(test_spec "~[release]~[no-tsan]")
endif()
set(left_out "^$")
if(LATCHLAB_SANITIZE MATCHES "thread")
  set(left_out "(race_[a-z]+|[a-z]+_race|seeded_threads)_test[.]cc$")
elseif(LATCHLAB_SANITIZE MATCHES "address")
  set(left_out "^indexes/.*(race_(hybrid|locks|rowex|rtm|seeded|striped)|seeded_threads)_test[.]cc$|^sync/.*_race_test[.]cc$")
endif()

# A name that CMake garbles (an unbalanced bracket) would select nothing and pass: NoTests makes it fail.
set(fails_without_tests EXTRA_ARGS --warn NoTests)

# Removes the test files that LATCHLAB_TEST_FILES does not name from the list; none where it is empty.
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

# latchlab_add_tests(FOLDER LIBRARY...): the executable FOLDER_test.
function(latchlab_add_tests folder)
  file(GLOB_RECURSE sources RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*_test.cc")
  list(FILTER sources EXCLUDE REGEX "${left_out}")
  latchlab_keep_wanted(sources)
  if(NOT sources)
    return()
  endif()
  # What the race finder runs takes a third less to compile so, and is no slower: most of the time is spent in the finder. Elsewhere
  # the preset says how: .ci/coverage asks for -O0.
  set(explored "${sources}")
  list(FILTER explored INCLUDE REGEX "(race_[a-z]+|[a-z]+_race)_test[.]cc$")
  if(CMAKE_CXX_FLAGS_RELEASE MATCHES "-O2")
    set_source_files_properties(${explored} PROPERTIES COMPILE_OPTIONS -O1)
  endif()
  set(target ${folder}_test)
  add_executable(${target} ${sources})
  target_compile_options(${target} PRIVATE ${latchlab_warnings})
  target_link_libraries(${target} PRIVATE latchlab_testing ${ARGN})
  if(folder MATCHES "^(harness|workloads)$")
    latchlab_unity(${target} ${sources})
  endif()
  if(folder STREQUAL "harness")
    # Nothing here is measured, and half of the time that compiling takes would be the optimizer's.
    target_compile_options(${target} PRIVATE -O0)
    target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/testing/catch.h" <fmt/format.h> <nlohmann/json.hpp>)
  else()
    target_precompile_headers(${target} REUSE_FROM latchlab_testing)
  endif()
  # Tests run the harness too, so whoever builds a test executable alone must get it.
  add_dependencies(${target} harness)
  set(elsewhere "~[all]~[threads]")
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
latchlab_add_tests(harness harness_pairs latchlab::harness)

# Threads that pass locks around take several times as long beside another test: they have the machine to themselves, and first,
# while nothing else runs that they would have to wait for.
if(TARGET indexes_test)
  catch_discover_tests(indexes_test TEST_PREFIX "indexes/" TEST_SPEC "${test_spec}[threads]" ${fails_without_tests}
    PROPERTIES LABELS indexes TIMEOUT 600 RUN_SERIAL TRUE COST 2000)
endif()

# Tests of the harness that take a time rather than a number of operations, and so need the processors: ctest -L realtime
if(TARGET harness_test)
  catch_discover_tests(harness_test TEST_PREFIX "harness/" TEST_SPEC "${test_spec}[realtime]" ${fails_without_tests}
    PROPERTIES LABELS realtime TIMEOUT 600 RUN_SERIAL TRUE)
endif()

# The rest says nothing new under a sanitizer.
# Parsers meet wrong input here under the address sanitizer, too.
if(LATCHLAB_SANITIZE MATCHES "address")
  set(wrong_input harness/smoke/wrong_input_test.py)
  add_test(NAME ${wrong_input} COMMAND "${LATCHLAB_PYTHON}" "${PROJECT_SOURCE_DIR}/${wrong_input}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${wrong_input} PROPERTIES TIMEOUT 600 COST 900 ENVIRONMENT "LATCHLAB_HARNESS=$<TARGET_FILE:harness>")
endif()
if(LATCHLAB_SANITIZE)
  return()
endif()

# What takes too long for every change: ./test --all
if(TARGET indexes_test)
  catch_discover_tests(indexes_test TEST_PREFIX "all/" TEST_SPEC "[all]" ${fails_without_tests}
    PROPERTIES LABELS all TIMEOUT 3600)
endif()

file(GLOB_RECURSE scripts RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*_test.py"
  "${PROJECT_SOURCE_DIR}/indexes/*_test.py" "${PROJECT_SOURCE_DIR}/workloads/*_test.py"
  "${PROJECT_SOURCE_DIR}/harness/*_test.py" "${PROJECT_SOURCE_DIR}/experiments/*_test.py"
  "${PROJECT_SOURCE_DIR}/cmake/*_test.py" "${PROJECT_SOURCE_DIR}/docs/*_test.py")
latchlab_keep_wanted(scripts)
foreach(name IN LISTS scripts)
  add_test(NAME ${name} COMMAND "${LATCHLAB_PYTHON}" "${PROJECT_SOURCE_DIR}/${name}" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 COST 900 ENVIRONMENT "LATCHLAB_HARNESS=$<TARGET_FILE:harness>")
  if(name MATCHES "/realtime_test[.]py$")
    set_tests_properties(${name} PROPERTIES LABELS realtime RUN_SERIAL TRUE)
  endif()
endforeach()
# By itself: ctest -L emulated. The emulator keeps a processor busy for its guest and another, now and then, for its devices: beside
# other tests it would come near the end of its time.
if("harness/smoke/emulated_machine_test.py" IN_LIST scripts)
  set_tests_properties(harness/smoke/emulated_machine_test.py PROPERTIES LABELS emulated SKIP_RETURN_CODE 77 PROCESSORS 2)
endif()

# `headers_alone`, which .ci/run builds: every header compiles alone, as the first include of its own .cc, where that is compiled
# alone, or here. Syntax only, and only those that have changed.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.h" "${PROJECT_SOURCE_DIR}/sync/*.h"
  "${PROJECT_SOURCE_DIR}/indexes/*.h" "${PROJECT_SOURCE_DIR}/workloads/*.h" "${PROJECT_SOURCE_DIR}/harness/*.h")
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
  # Included from an empty file rather than compiled itself, where #pragma once would be a warning.
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

# The installed package: the installed example, another project, is built against it, by CMake and by hand.
add_test(NAME "installed package"
  COMMAND "${CMAKE_COMMAND}" -D "BUILD_DIR=${PROJECT_BINARY_DIR}" -D "MANUAL=${PROJECT_SOURCE_DIR}/docs/extending.md"
    -D "SCRATCH=${CMAKE_CURRENT_BINARY_DIR}/installed" -D "CXX=${CMAKE_CXX_COMPILER}"
    -D "TARGET_FLAGS=${latchlab_target_flags}"
    -P "${PROJECT_SOURCE_DIR}/cmake/installed_test.cmake")
set_tests_properties("installed package" PROPERTIES TIMEOUT 600 COST 1000)

# Comments that Doxygen does not understand fail here, where it is installed.
if(LATCHLAB_DOXYGEN)
  add_test(NAME "API reference" COMMAND "${LATCHLAB_DOXYGEN}" Doxyfile WORKING_DIRECTORY "${PROJECT_BINARY_DIR}")
endif()
