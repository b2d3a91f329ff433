#include "src/memory/media/memkind_pages.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <memkind.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/memory/media/file_system.h"

namespace latchlab {
namespace {

/// The functions of libmemkind, which is loaded when it is first asked for. A process that links with it has the pages
/// of its allocator from the start, and the libraries that it needs: a measurement of memory should not.
struct Memkind {
  explicit Memkind(std::string_view what) {
    void* const library = dlopen("libmemkind.so.0", RTLD_NOW | RTLD_LOCAL);
    const auto find = [&](auto& function, const char* name) {
      if (library != nullptr)
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) throw InputError(fmt::format("{}: libmemkind cannot be loaded: {}", what, dlerror()));
    };
    find(create_pmem, "memkind_create_pmem");
    find(create_fixed, "memkind_create_fixed");
    find(posix_memalign, "memkind_posix_memalign");
    find(free, "memkind_free");
    find(destroy_kind, "memkind_destroy_kind");
    find(error_message, "memkind_error_message");
  }

  decltype(&memkind_create_pmem) create_pmem = nullptr;
  decltype(&memkind_create_fixed) create_fixed = nullptr;
  decltype(&memkind_posix_memalign) posix_memalign = nullptr;
  decltype(&memkind_free) free = nullptr;
  decltype(&memkind_destroy_kind) destroy_kind = nullptr;
  decltype(&memkind_error_message) error_message = nullptr;
};

class MemkindPages final : public PageSource {
 public:
  MemkindPages(const std::string& path, u64 size, std::string_view what) : memkind_(what) {
    struct stat there{};
    if (stat(path.c_str(), &there) != 0) throw refused(what, std::strerror(errno));
    if (S_ISDIR(there.st_mode)) {
      check_file_system(path, what);
      // Without a bound of its own, since memkind counts what its heap wastes, and the memory has a limit already.
      check(what, memkind_.create_pmem(path.c_str(), 0, &kind_));
    } else if (S_ISCHR(there.st_mode)) {
      map_device(path, size, what);
      check(what, memkind_.create_fixed(device_, device_bytes_, &kind_));
    } else {
      throw refused(what, "it is neither a folder nor a DAX device");
    }
  }
  MemkindPages(const MemkindPages&) = delete;
  MemkindPages& operator=(const MemkindPages&) = delete;
  ~MemkindPages() {
    if (kind_ != nullptr) memkind_.destroy_kind(kind_);
    if (device_ != nullptr) munmap(device_, device_bytes_);
  }

  bool grants_huge_pages() override { return false; }
  Mapping map(u64 bytes, bool huge, const PagePlacement&) override {
    void* start = nullptr;
    if (memkind_.posix_memalign(kind_, &start, huge ? kHugePageBytes : kSmallPageBytes, bytes) != 0) return {};
    std::memset(start, 0, bytes);  // memkind gives freed pages again
    return {.start = start, .huge = false};
  }
  void populate(void*, u64) override {}  // map has written them
  void unmap(void* start, u64) override { memkind_.free(kind_, start); }
  void* reserve(u64) override { return nullptr; }
  bool commit(void*, u64, bool, const PagePlacement&) override { return false; }

 private:
  static InputError refused(std::string_view what, std::string_view why) {
    return InputError(
        fmt::format("{}: {}; give a folder of a tmpfs or of a DAX file system, or a DAX device", what, why));
  }
  /// Throws InputError if a mapping of a file in the folder is the page cache: its speed is that of DRAM, until the
  /// kernel writes the pages to the disk.
  static void check_file_system(const std::string& folder, std::string_view what) {
    const std::optional<FileSystem> files = file_system_of(folder);
    if (!files) throw refused(what, std::strerror(errno));
    if (files->is_memory || files->maps_dax) return;
    throw refused(
        what, fmt::format("it is a folder of {} without DAX, whose pages are the page cache's, in DRAM", files->name));
  }
  void check(std::string_view what, int error) const {
    if (error == MEMKIND_SUCCESS) return;
    char text[MEMKIND_ERROR_MESSAGE_SIZE];
    memkind_.error_message(error, text, sizeof text);
    throw refused(what, fmt::format("libmemkind: {}", text));
  }
  void map_device(const std::string& path, u64 size, std::string_view what) {
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) throw refused(what, std::strerror(errno));
    void* const start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int error = errno;
    close(file);
    if (start == MAP_FAILED) throw refused(what, fmt::format("cannot be mapped: {}", std::strerror(error)));
    device_ = start;
    device_bytes_ = size;
  }

  const Memkind memkind_;
  memkind_t kind_ = nullptr;
  void* device_ = nullptr;
  u64 device_bytes_ = 0;
};

}  // namespace

std::shared_ptr<PageSource> memkind_pages(const std::string& path, u64 size, std::string_view what) {
  return std::make_shared<MemkindPages>(path, size, what);
}

}  // namespace latchlab
