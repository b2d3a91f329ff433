# What a preset decides, and the flags that follow from it.

set(LATCHLAB_MACHINE Native CACHE STRING "The machine that policies run on: Native or Emulated")
set_property(CACHE LATCHLAB_MACHINE PROPERTY STRINGS Native Emulated)
set(LATCHLAB_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them; empty: none")
set(LATCHLAB_PAIRS "" CACHE STRING "The index:policy pairs to build, as in art:rtm;*:olc; tested: those of ./test; empty: all")
set(LATCHLAB_TEST_FILES "" CACHE STRING "The test files to build and run, as in src/base/spec_test.cc;cmake/setup_test.py; empty: all")
option(LATCHLAB_FUZZ "Link the fuzz targets with libFuzzer, which clang brings (cmake/fuzz.cmake)" OFF)
# For a third of the time less: much of it goes into what files include, above all the library for JSON. OFF, every file is compiled
# alone.
option(LATCHLAB_UNITY "Compile the files of the library and the harness, and the tests of harness and workloads, several at a time" ON)

# latchlab_unity(TARGET SOURCE...): compiles its files up to twelve at a time, and only those of one folder together, or of small rooms of
# the harness that stand on each other. Names of anonymous namespaces must differ there, and a new file changes nothing elsewhere.
function(latchlab_unity target)
  if(NOT LATCHLAB_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE folder)
    cmake_path(GET folder PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    string(REGEX REPLACE "^harness(/result|/text)?$" "harness/documents" folder "${folder}")
    string(REGEX REPLACE "^harness/(config|host|loop)$" "harness/host" folder "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND of_${folder} "${source}")
    list(LENGTH of_${folder} count)
    math(EXPR batch "(${count} - 1) / 12")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}_${batch}")
  endforeach()
endfunction()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

set(latchlab_warnings -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlapping copies in every "literal" + std::string (its bug 105651).
  list(APPEND latchlab_warnings -Wno-restrict)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 calls a function that it declares deprecated, in every std::stable_sort.
  list(APPEND latchlab_warnings -Wno-deprecated-declarations)
endif()

# Instructions beyond baseline x86-64. The transactional ones are emitted everywhere, because a begin that is
# inlined cannot live in a file of its own, and executed only after the probe has seen them work. No AVX: g++ would
# add a vzeroupper to what uses it, which aborts a transaction.
set(latchlab_target_flags -mrtm -mtsxldtrk -mcx16 -msse4.2 -mpopcnt)

# The first call through a lazily bound PLT entry inside a transaction always aborts it.
set(latchlab_link_flags -Wl,-z,now)

if(LATCHLAB_SANITIZE)
  add_compile_options(-fsanitize=${LATCHLAB_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LATCHLAB_SANITIZE})
  if(LATCHLAB_SANITIZE MATCHES "address")
    # To ask before each use of a pointer whether it is null or its object too small takes long to compile, and what is read or written
    # there ends in AddressSanitizer's words. vptr would ask what type an object has that is cast down; here only bases without
    # virtual functions are, to the one class that they are a base of.
    add_compile_options(-fno-sanitize=null,object-size,vptr)
  endif()
  if(LATCHLAB_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code makes g++ see uninitialised variables where there are none: in <regex>, in std::optional.
    add_compile_options(-Wno-maybe-uninitialized)
    if(LATCHLAB_SANITIZE MATCHES "thread")
      # g++ warns at every fence that TSan does not see it; the optimistic reads that use fences go through atomic
      # cells, which it does see.
      add_compile_options(-Wno-tsan)
    endif()
  endif()
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
