# The options that a preset sets, and the flags that follow from them.

set(LATCHLAB_MACHINE Native CACHE STRING "The machine that policies run on: Native, Emulated or Modelled")
set_property(CACHE LATCHLAB_MACHINE PROPERTY STRINGS Native Emulated Modelled)
set(LATCHLAB_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them; empty: none")
set(LATCHLAB_SERVER_PAIRS "*:olc" CACHE STRING "The index:policy pairs of the target `server`")
set(LATCHLAB_PAIRS "" CACHE STRING "The index:policy pairs to build, as in art:rtm;*:olc; tested: those of ./test; empty: all")
set(LATCHLAB_TEST_FILES "" CACHE STRING "The test files to build and run, as in src/base/spec_test.cc;cmake/setup_test.py; empty: all")
set(LATCHLAB_VECTOR_FUNCTIONS "${PROJECT_SOURCE_DIR}/src/vector/user_functions.h" CACHE FILEPATH
  "A header with vector functions of your own, in the place of src/vector/user_functions.h, which says how")
option(LATCHLAB_FUZZ "Link the fuzz targets with libFuzzer, which clang brings (cmake/fuzz.cmake)" OFF)
# ON saves a third of the time to compile, most of which goes into included headers, above all those of the JSON library. OFF compiles
# every file alone.
option(LATCHLAB_UNITY "Compile the files of the library and the harness, and the tests of harness and workloads, several at a time" ON)

# latchlab_unity(TARGET SOURCE...) compiles up to twelve files of one folder as one unit; a few small folders of the harness share
# units. Names in anonymous namespaces of files of one folder must therefore differ. A new file affects its own folder only.
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
  # g++ 12 warns of overlapping copies in every "literal" + std::string (GCC bug 105651). It also takes the list of an attempt's blocks for
  # uninitialized: it does not see that their count bounds those that are read (AttemptBlocks::abandon).
  list(APPEND latchlab_warnings -Wno-restrict -Wno-maybe-uninitialized)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 calls a function that libstdc++ declares deprecated.
  list(APPEND latchlab_warnings -Wno-deprecated-declarations)
  # clang also warns of a local name that a file compiled together with this one has at its top.
  list(REMOVE_ITEM latchlab_warnings -Wshadow)
endif()

# Instructions beyond baseline x86-64. The compiler may emit transactional ones in every file, because an inlined begin cannot stand in
# a file of its own; they are executed only after the probe has seen them work. AVX is off: g++ would add vzeroupper to functions that
# use AVX, and that instruction aborts a transaction.
set(latchlab_target_flags -mrtm -mtsxldtrk -mcx16 -msse4.2 -mpopcnt)

# The first call through a lazily bound PLT entry inside a transaction always aborts it.
set(latchlab_link_flags -Wl,-z,now)

if(LATCHLAB_SANITIZE)
  add_compile_options(-fsanitize=${LATCHLAB_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LATCHLAB_SANITIZE})
  # Each inlined copy would be full of checks. So no function asks to be inlined (compare LATCHLAB_FLATTEN).
  add_compile_definitions(always_inline=unused)
  if(LATCHLAB_SANITIZE MATCHES "address")
    # `null` and `object-size` check every use of a pointer, which takes long to compile; AddressSanitizer reports such accesses anyway.
    # `vptr` checks the type of objects that are cast down. This code casts only bases without virtual functions, each to the one class
    # that derives from it.
    add_compile_options(-fno-sanitize=null,object-size,vptr)
  endif()
  if(LATCHLAB_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # With instrumentation g++ warns of uninitialised variables that are none, in <regex> and std::optional.
    add_compile_options(-Wno-maybe-uninitialized)
    if(LATCHLAB_SANITIZE MATCHES "thread")
      # g++ warns at every fence that TSan does not understand it. The optimistic reads that use fences go through atomic cells, which
      # TSan does understand.
      add_compile_options(-Wno-tsan)
    endif()
  endif()
endif()

set(CMAKE_CXX_EXTENSIONS OFF)

# Where ccache is installed, branches, work trees and clones share objects. CCACHE_DISABLE=1 in the environment turns it off. The
# sloppiness and the flags are those that its manual asks for with precompiled headers, whose contents it still compares.
# cmake/ccache_test.py looks for stale objects.
find_program(LATCHLAB_CCACHE ccache)
mark_as_advanced(LATCHLAB_CCACHE)
if(LATCHLAB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${LATCHLAB_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  else()
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()
