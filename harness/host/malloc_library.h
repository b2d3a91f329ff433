#pragma once

// The library that serves malloc: which library an --alloc word stands for, and how a process comes to use it. A
// process has one malloc from its first instruction on, so it restarts itself with the library preloaded.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/config.h"

namespace latchlab {

/// A library that --alloc names.
struct MallocLibrary {
  std::string_view file;     ///< the name for the dynamic linker: libjemalloc.so.2
  std::string_view package;  ///< the Debian package
};

/// Returns the library of `alloc`. Nothing for kMalloc, which keeps the malloc that the process was started with, and
/// for arenas.
[[nodiscard]] std::optional<MallocLibrary> library_of(Alloc);

/// The library that serves malloc in this process.
struct MallocServer {
  std::string library;  ///< the file in which the dynamic linker finds malloc
  /// The library's own answer; "unknown" unless --alloc names the library or it is the GNU C library.
  std::string version;
};

[[nodiscard]] MallocServer malloc_server();

/// Throws InputError if `alloc` names a library that is not installed. It loads the library, so do not measure in this
/// process afterwards.
void check_installed(Alloc alloc);

/// Returns if the process's malloc is that of `alloc`, or if `alloc` names no library. Otherwise it restarts the
/// process with the same command line and the library preloaded, and all state of the process is lost. Throws
/// InputError if the library is not installed, or does not serve malloc although it was preloaded.
void serve_malloc_by(Alloc alloc, const std::vector<std::string>& command_line);

}  // namespace latchlab
