# Fuzz targets. NAME_fuzz.cc stands beside a parser, and the folder NAME_fuzz holds its inputs (src/testing/fuzzing.h). In every
# build a test runs each target on its inputs. With clang and LATCHLAB_FUZZ the test also searches for new inputs, from a fixed seed
# and with LATCHLAB_FUZZ_RUNS runs. To search for longer:
#
#   cmake --preset clang && cmake --build --preset clang --target spec_fuzz
#   build/clang/spec_fuzz -max_total_time=600 NEW_INPUTS src/base/spec_fuzz
set(LATCHLAB_FUZZ_RUNS 5000 CACHE STRING "Number of inputs that the test of a fuzz target tries")

if(LATCHLAB_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "LATCHLAB_FUZZ needs clang; the compiler is ${CMAKE_CXX_COMPILER_ID}: cmake --preset clang")
  endif()
endif()

add_library(latchlab_fuzzing OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/src/testing/fuzzing.cc")
target_compile_options(latchlab_fuzzing PRIVATE ${latchlab_warnings})
target_link_libraries(latchlab_fuzzing PUBLIC latchlab)

file(GLOB_RECURSE fuzz_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/src/*_fuzz.cc" "${PROJECT_SOURCE_DIR}/workloads/*_fuzz.cc" "${PROJECT_SOURCE_DIR}/harness/*_fuzz.cc")
set(fuzz_targets "")
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name "${source}" NAME_WE)
  string(REGEX REPLACE "\\.cc$" "" inputs "${source}")
  add_executable(${name} "${source}")
  target_compile_options(${name} PRIVATE ${latchlab_warnings})
  if(source MATCHES "/harness/")
    target_link_libraries(${name} PRIVATE latchlab_fuzzing latchlab::harness)
  else()
    target_link_libraries(${name} PRIVATE latchlab_fuzzing)
  endif()
  if(LATCHLAB_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(new_inputs "${CMAKE_CURRENT_BINARY_DIR}/fuzz/${name}")
    file(MAKE_DIRECTORY "${new_inputs}")
    add_test(NAME "fuzz/${name}" COMMAND ${name} -seed=1 -runs=${LATCHLAB_FUZZ_RUNS} -timeout=10 -rss_limit_mb=2048
      -max_len=4096 "${new_inputs}" "${inputs}")
  else()
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src/testing/fuzz_main.cc")
    add_test(NAME "fuzz/${name}" COMMAND ${name} "${inputs}")
  endif()
  set_tests_properties("fuzz/${name}" PROPERTIES LABELS fuzz TIMEOUT 600)
  list(APPEND fuzz_targets ${name})
endforeach()
add_custom_target(fuzz_targets DEPENDS ${fuzz_targets})
