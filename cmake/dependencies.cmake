# Finds the libraries that latchlab links with. The installed package reads this file, too.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(TBB REQUIRED)
find_package(absl REQUIRED)
find_package(libcuckoo REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Boost CONFIG REQUIRED COMPONENTS context)

# hwloc, libnuma, libpfm4 and libzstd have no CMake package.
function(latchlab_find_library name header)
  if(TARGET latchlab::${name})
    return()
  endif()
  find_path(LATCHLAB_${name}_INCLUDE ${header} REQUIRED)
  find_library(LATCHLAB_${name}_LIBRARY ${name} REQUIRED)
  mark_as_advanced(LATCHLAB_${name}_INCLUDE LATCHLAB_${name}_LIBRARY)
  add_library(latchlab::${name} UNKNOWN IMPORTED)
  set_target_properties(latchlab::${name} PROPERTIES
    IMPORTED_LOCATION "${LATCHLAB_${name}_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LATCHLAB_${name}_INCLUDE}")
endfunction()

latchlab_find_library(hwloc hwloc.h)
latchlab_find_library(numa numa.h)
latchlab_find_library(pfm perfmon/pfmlib_perf_event.h)
latchlab_find_library(zstd zstd.h)

# libmemkind is optional: without it, far memory cannot be a file (src/memory/media/memkind_pages.h).
find_path(LATCHLAB_memkind_INCLUDE memkind.h)
mark_as_advanced(LATCHLAB_memkind_INCLUDE)

# UCX is left out unless it is asked for: a process that loads it has its calls of mmap, munmap and madvise diverted, which a measurement
# of memory should not have, and which crashes under ThreadSanitizer. Without it, a client and a server refuse addresses with ucx:, and
# the tests of UCX are not built (tests.cmake).
option(LATCHLAB_UCX "Let servers and clients connect by UCX" OFF)
find_path(LATCHLAB_ucp_INCLUDE ucp/api/ucp.h)
find_library(LATCHLAB_ucp_LIBRARY ucp)
find_library(LATCHLAB_ucs_LIBRARY ucs)
mark_as_advanced(LATCHLAB_ucp_INCLUDE LATCHLAB_ucp_LIBRARY LATCHLAB_ucs_LIBRARY)
if(LATCHLAB_UCX AND NOT (LATCHLAB_ucp_INCLUDE AND LATCHLAB_ucp_LIBRARY AND LATCHLAB_ucs_LIBRARY))
  message(FATAL_ERROR "-DLATCHLAB_UCX=ON needs libucx-dev (ucp/api/ucp.h, libucp and libucs), which is not installed")
endif()
if(LATCHLAB_UCX AND NOT TARGET latchlab::ucx)
  add_library(latchlab::ucx INTERFACE IMPORTED)
  set_target_properties(latchlab::ucx PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${LATCHLAB_ucp_INCLUDE}"
    INTERFACE_LINK_LIBRARIES "-Wl,--push-state,--as-needed,${LATCHLAB_ucp_LIBRARY},${LATCHLAB_ucs_LIBRARY},--pop-state")
endif()
