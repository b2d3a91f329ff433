#include "harness/host/malloc_library.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include <fmt/format.h>

#include "src/base/error.h"

namespace latchlab {

namespace {

/// Set in the environment of the restarted process, so that it does not restart forever.
constexpr const char* kPreloaded = "LATCHLAB_PRELOADED";

/// Returns the version of the library at `path`, by the functions with which the libraries of --alloc and glibc report
/// it.
std::string version_of(void* library, const char* path) {
  if (library == nullptr) return "unknown";
  if (auto* const control =
          reinterpret_cast<int (*)(const char*, void*, std::size_t*, void*, std::size_t)>(dlsym(library, "mallctl"))) {
    const char* text = nullptr;
    std::size_t bytes = sizeof(text);
    if (control("version", &text, &bytes, nullptr, 0) == 0) return fmt::format("jemalloc {}", text);
  }
  if (auto* const ask = reinterpret_cast<const char* (*)(int*, int*, const char**)>(dlsym(library, "tc_version"))) {
    return ask(nullptr, nullptr, nullptr);  // begins with "gperftools"
  }
  if (auto* const ask = reinterpret_cast<int (*)()>(dlsym(library, "mi_version"))) {
    return fmt::format("mimalloc {}.{}.{}", ask() / 100, ask() / 10 % 10, ask() % 10);
  }
  if (dlsym(library, "scalable_malloc") != nullptr || dlsym(library, "__TBB_malloc_proxy") != nullptr) {
    // This library has no such function, and oneTBB's other library, which has one, need not be in the process. But the
    // file's name has a number.
    std::error_code none;
    const std::filesystem::path file = std::filesystem::canonical(path, none);
    return fmt::format("oneTBB, {}", none ? path : file.filename().string());
  }
  if (dlsym(library, "gnu_get_libc_version") != nullptr) return fmt::format("glibc {}", gnu_get_libc_version());
  return "unknown";
}

}  // namespace

std::optional<MallocLibrary> library_of(Alloc alloc) {
  switch (alloc) {
    case Alloc::kTcmalloc: return MallocLibrary{.file = "libtcmalloc_minimal.so.4", .package = "libtcmalloc-minimal4"};
    case Alloc::kJemalloc: return MallocLibrary{.file = "libjemalloc.so.2", .package = "libjemalloc2"};
    case Alloc::kMimalloc: return MallocLibrary{.file = "libmimalloc.so.2.0", .package = "libmimalloc2.0"};
    case Alloc::kTbb: return MallocLibrary{.file = "libtbbmalloc_proxy.so.2", .package = "libtbbmalloc2"};
    case Alloc::kMalloc:
    case Alloc::kArena:
    case Alloc::kArenaTouch: break;
  }
  return std::nullopt;
}

MallocServer malloc_server() {
  Dl_info info{};
  void* const serving = dlsym(RTLD_DEFAULT, "malloc");
  if (serving == nullptr || dladdr(serving, &info) == 0 || info.dli_fname == nullptr) {
    return {.library = "unknown", .version = "unknown"};
  }
  void* const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  MallocServer out{.library = std::filesystem::path(info.dli_fname).filename(),
                   .version = version_of(library, info.dli_fname)};
  if (library != nullptr) (void)dlclose(library);
  return out;
}

void check_installed(Alloc alloc) {
  const std::optional<MallocLibrary> wanted = library_of(alloc);
  // The load only checks that the file exists. An allocator may be unable to join a running process, which is a
  // different error.
  if (!wanted || dlopen(std::string(wanted->file).c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) return;
  if (std::string_view(dlerror()).find("cannot open shared object file") == std::string_view::npos) return;
  throw InputError(fmt::format("--alloc={}: {} is not installed: it is in the package {}", word(alloc), wanted->file,
                               wanted->package));
}

void serve_malloc_by(Alloc alloc, const std::vector<std::string>& command_line) {
  const std::optional<MallocLibrary> wanted = library_of(alloc);
  if (!wanted) return;
  const std::string serving = malloc_server().library;
  if (serving == wanted->file) return;
  const auto fail = [&](const std::string& why) { return InputError(fmt::format("--alloc={}: {}", word(alloc), why)); };
  if (std::getenv(kPreloaded) != nullptr) {
    throw fail(fmt::format("{} was preloaded, but malloc is still that of {}", wanted->file, serving));
  }
  check_installed(alloc);
  const std::string file(wanted->file);
  const char* const before = std::getenv("LD_PRELOAD");
  (void)setenv("LD_PRELOAD", (before == nullptr || *before == '\0' ? file : file + ":" + before).c_str(), 1);
  (void)setenv(kPreloaded, file.c_str(), 1);
  std::vector<std::string> words = command_line;
  std::vector<char*> pointers;
  for (std::string& each : words) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  (void)execv("/proc/self/exe", pointers.data());
  throw fail(fmt::format("the process cannot restart: {}", std::strerror(errno)));
}

}  // namespace latchlab
