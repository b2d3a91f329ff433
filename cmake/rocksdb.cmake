# The tier (services/rocksdb) as a shared library that RocksDB's own programs load: the target rocksdb_tier. It is built where
# librocksdb-dev is installed, in a version whose interface is known here. RocksDB changes its SecondaryCache between versions:
#
#   7.8        services/rocksdb/secondary_cache.{h,cc}
#   others     refused. A version that comes has its own implementation of the interface, and its line here

find_path(LATCHLAB_rocksdb_INCLUDE rocksdb/secondary_cache.h)
find_library(LATCHLAB_rocksdb_LIBRARY rocksdb)
mark_as_advanced(LATCHLAB_rocksdb_INCLUDE LATCHLAB_rocksdb_LIBRARY)
if(NOT (LATCHLAB_rocksdb_INCLUDE AND LATCHLAB_rocksdb_LIBRARY))
  return()
endif()
set(rocksdb_version "")
foreach(part MAJOR MINOR PATCH)
  file(STRINGS "${LATCHLAB_rocksdb_INCLUDE}/rocksdb/version.h" line REGEX "^#define ROCKSDB_${part} " LIMIT_COUNT 1)
  string(REGEX REPLACE "^.* " "." line "${line}")
  string(APPEND rocksdb_version "${line}")
endforeach()
string(REGEX REPLACE "^[.]" "" rocksdb_version "${rocksdb_version}")
if(NOT rocksdb_version MATCHES "^7[.]8[.]")
  message(STATUS "RocksDB ${rocksdb_version} has another SecondaryCache than 7.8, the tested version: no rocksdb_tier in this build")
  return()
endif()
latchlab_find_library(rocksdb rocksdb/secondary_cache.h)

# The sources of the library that it needs, compiled again: liblatchlab.a is not position independent.
set(tier_sources src/arch/features.cc src/arch/heavy_fence.cc src/arch/slice_extension.cc src/base/error.cc src/base/new_file.cc
  src/base/printable.cc src/base/quantity.cc src/base/spec.cc src/machine/waits.cc src/memory/chunk_source.cc
  src/memory/media/file_system.cc src/memory/media/medium.cc src/memory/media/medium_options.cc src/memory/media/memkind_pages.cc
  src/memory/numa.cc src/memory/page_source.cc)
if(NOT LATCHLAB_memkind_INCLUDE)
  list(TRANSFORM tier_sources REPLACE "/memkind_pages[.]cc$" "/memkind_pages_missing.cc")
endif()
list(TRANSFORM tier_sources PREPEND "${PROJECT_SOURCE_DIR}/")
foreach(name copy_speed options secondary_cache register)
  list(APPEND tier_sources "${PROJECT_SOURCE_DIR}/services/rocksdb/${name}.cc")
endforeach()
add_library(rocksdb_tier SHARED EXCLUDE_FROM_ALL ${tier_sources})
# A program that loads it sees no name of it: its own libraries may be others. It is never unloaded, since RocksDB keeps its functions.
set_target_properties(rocksdb_tier PROPERTIES OUTPUT_NAME latchlab_rocksdb CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_compile_features(rocksdb_tier PRIVATE cxx_std_20)
target_compile_options(rocksdb_tier PRIVATE ${latchlab_target_flags} ${latchlab_warnings})
target_link_options(rocksdb_tier PRIVATE ${latchlab_link_flags} -Wl,-z,defs -Wl,-z,nodelete -Wl,--exclude-libs,ALL
  "-Wl,--version-script=${PROJECT_SOURCE_DIR}/services/rocksdb/exports.txt")
set_property(TARGET rocksdb_tier APPEND PROPERTY LINK_DEPENDS "${PROJECT_SOURCE_DIR}/services/rocksdb/exports.txt")
target_include_directories(rocksdb_tier PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(rocksdb_tier PRIVATE latchlab::rocksdb fmt::fmt nlohmann_json::nlohmann_json latchlab::numa
  ${CMAKE_DL_LIBS} Threads::Threads)
