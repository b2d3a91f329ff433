#include "src/wire/mailboxes.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "src/base/error.h"
#include "src/wire/stream.h"

namespace latchlab::mailboxes {

namespace {

/// Returns the mapping of a file; null if the kernel refuses.
Layout* mapped(const File& file, std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  return at == MAP_FAILED ? nullptr : static_cast<Layout*>(at);
}

// The lock of a server. It belongs to the open file, not to the process, so that a client in the server's own process
// sees it, and so that closing another file does not give it up.
flock lock_of_server() { return {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0}; }

/// Takes the lock, if no server has it.
bool take_lock(const File& file) {
  flock lock = lock_of_server();
  return fcntl(file.number(), F_OFD_SETLK, &lock) == 0;
}

/// Returns true if the path leads to this file.
bool leads_to(const std::string& path, const File& file) {
  struct stat here{}, there{};
  return stat(path.c_str(), &here) == 0 && fstat(file.number(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

/// Removes what an ended server has left at the path. Returns an error if there is something else, or a server.
int remove_left(const std::string& path) {
  const File old(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!old) return 0;
  struct stat status{};
  const bool whole = fstat(old.number(), &status) == 0 && static_cast<std::size_t>(status.st_size) >= sizeof(Layout);
  Layout* const layout = whole ? mapped(old, sizeof(Layout)) : nullptr;
  // Acquire: pairs as in `of`. A server that stores this has the lock already.
  const bool ours = layout != nullptr && layout->magic.load(kAcquire) == Layout::kMagic;
  if (layout != nullptr) munmap(layout, sizeof(Layout));
  if (!ours) return EEXIST;
  // Another server may have replaced the file since it was opened.
  if (!take_lock(old) || !leads_to(path, old)) return EADDRINUSE;
  unlink(path.c_str());
  return 0;
}

}  // namespace

void Bell::ring() {
  // Pairs with the fence in sleep().
  std::atomic_thread_fence(kSeqCst);
  if (sleeps_.load(kRelaxed) == 0) [[likely]]
    return;
  rings_.fetch_add(1, kRelaxed);  // relaxed: the futex orders the sleeper behind it
  syscall(SYS_futex, &rings_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Bell::wait(u32 seen, u32 most_ms) {
  const timespec most{.tv_sec = most_ms / 1000, .tv_nsec = static_cast<long>(most_ms % 1000) * 1'000'000};
  syscall(SYS_futex, &rings_, FUTEX_WAIT, seen, &most, nullptr, 0);
}

std::optional<std::size_t> Writer::write(std::string_view bytes) {
  // Acquire: pairs with the release of the reader, which has read what the new bytes overwrite.
  const u64 used = written_ - ring_->read.load(kAcquire);
  if (used > kRingBytes) return std::nullopt;
  const std::size_t count = std::min<std::size_t>(bytes.size(), kRingBytes - used);
  if (count == 0) return 0;
  const std::size_t at = written_ % kRingBytes, first = std::min(count, kRingBytes - at);
  std::memcpy(ring_->bytes.data() + at, bytes.data(), first);
  std::memcpy(ring_->bytes.data(), bytes.data() + first, count - first);
  written_ += count;
  ring_->written.store(written_, kRelease);  // pairs with the acquire of the reader
  return count;
}

bool Writer::has_room() const { return written_ - ring_->read.load(kRelaxed) != kRingBytes; }

std::optional<std::string_view> Reader::look() const {
  // Acquire: pairs with the release of the writer.
  const u64 there = ring_->written.load(kAcquire) - read_;
  if (there > kRingBytes) return std::nullopt;
  const std::size_t at = read_ % kRingBytes;
  return std::string_view(ring_->bytes.data() + at, std::min<std::size_t>(there, kRingBytes - at));
}

void Reader::drop(std::size_t bytes) {
  read_ += bytes;
  ring_->read.store(read_, kRelease);  // pairs with the acquire of the writer
}

bool Reader::has_bytes() const { return ring_->written.load(kRelaxed) != read_; }

void Box::free() {
  for (Ring* const ring : {&to_server, &to_client}) {
    ring->written.store(0, kRelaxed);
    ring->read.store(0, kRelaxed);
  }
  state.store(pack(State::kFree, 0), kRelease);  // pairs with the acquire of the client that takes the box
}

bool lives(u32 process) { return kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH; }

Mapping Mapping::made_at(const std::string& path, u32 loops) {
  const auto refuse = [&](const char* what, int error) {
    return InputError("--listen: shm:" + path + ": cannot " + what + ": " + std::strerror(error));
  };
  if (loops > kMostLoops) {
    throw InputError("--listen: shm:" + path + ": mailboxes serve " + std::to_string(kMostLoops) + " loops, not " +
                     std::to_string(loops));
  }
  if (const int error = remove_left(path); error != 0) throw refuse("make mailboxes", error);
  File file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) throw refuse("make mailboxes", errno);
  const std::size_t bytes = Layout::bytes(loops);
  // Not a file with holes: a store to one that finds the file system full would kill the server.
  const int lacks = take_lock(file) ? posix_fallocate(file.number(), 0, static_cast<off_t>(bytes)) : errno;
  Layout* const layout = lacks == 0 ? mapped(file, bytes) : nullptr;
  if (layout == nullptr) {
    const int error = lacks == 0 ? errno : lacks;
    unlink(path.c_str());
    throw refuse("make mailboxes", error);
  }
  // The file is full of zeros: free boxes and empty rings.
  layout->loops = loops;
  layout->magic.store(Layout::kMagic, kRelease);  // pairs with the acquire in `of`
  return {layout, bytes, std::move(file)};
}

Mapping Mapping::of(const std::string& path) {
  const auto refuse = [&](const char* why) { return ConnectionLost("cannot connect to shm:" + path + ": " + why); };
  File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) throw refuse(std::strerror(errno));
  struct stat status{};
  if (fstat(file.number(), &status) != 0 || static_cast<std::size_t>(status.st_size) < sizeof(Layout))
    throw refuse("it has no mailboxes");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  Layout* const layout = mapped(file, bytes);
  if (layout == nullptr) throw refuse(std::strerror(errno));
  Mapping mapping(layout, bytes, std::move(file));
  // Acquire: pairs with the release of the server, which has written the other fields before.
  if (layout->magic.load(kAcquire) != Layout::kMagic || layout->loops > kMostLoops ||
      Layout::bytes(layout->loops) != bytes)
    throw refuse("it has no mailboxes");
  if (!mapping.server_lives()) throw refuse("its server has ended");
  return mapping;
}

bool Mapping::server_lives() const {
  flock lock = lock_of_server();
  return fcntl(file_.number(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

Mapping::Mapping(Mapping&& other) noexcept
    : layout_(std::exchange(other.layout_, nullptr)), bytes_(other.bytes_), file_(std::move(other.file_)) {}

Mapping::~Mapping() {
  if (layout_ != nullptr) munmap(layout_, bytes_);
}

}  // namespace latchlab::mailboxes
