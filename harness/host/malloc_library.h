#pragma once

// Which library serves malloc: the words of --alloc that are one, and how a process comes to be served by it. A process
// has one malloc from its first instruction on, so it is begun again with the library preloaded.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/config.h"

namespace latchlab {

/// A library that --alloc names.
struct MallocLibrary {
  std::string_view file;     ///< as the dynamic linker knows it: libjemalloc.so.2
  std::string_view package;  ///< Debian's
};

/// Nothing for malloc itself, which is whatever the process was started with, and for arenas.
[[nodiscard]] std::optional<MallocLibrary> library_of(Alloc);

/// Who serves malloc in this process: the file in which the dynamic linker finds malloc, and what that file says of
/// itself when it is asked for its version.
struct MallocServer {
  std::string library;
  std::string version;  ///< "unknown" of a library that is none of those that --alloc names, nor the GNU C library
};

[[nodiscard]] MallocServer malloc_server();

/// Throws InputError where `alloc` names a library that is not installed. Loads it, so this is no process to measure
/// in.
void check_installed(Alloc alloc);

/// Returns if the process's malloc is that of `alloc`, or if `alloc` names no library. Otherwise the process begins
/// again, with the same command line and the library preloaded; what was done so far is lost. Throws InputError where
/// the library is not installed, or does not serve malloc although it was preloaded.
void serve_malloc_by(Alloc alloc, const std::vector<std::string>& command_line);

}  // namespace latchlab
