#include "src/base/new_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "src/base/file_error.h"
#include "src/base/types.h"

namespace latchlab {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".latchlab.", kSuffix = ".part";

// The path of the file that the signal handler removes, and whether there is one. Of several open files it is the
// first.
std::array<char, PATH_MAX> unfinished;
std::atomic<bool> is_unfinished{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void on_signal(int number) {
  NewFile::remove_unfinished();
  std::signal(number, SIG_DFL);
  std::raise(number);  // delivered when this handler returns
}

/// Handles the signals that would end the process and that are neither handled nor ignored yet.
bool handle_signals() {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ}) {
    struct sigaction before{};
    if (sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    std::signal(number, number == SIGXFSZ ? SIG_IGN : on_signal);  // without SIGXFSZ the write fails instead
  }
  return true;
}

/// Makes a locked file under a hidden name of its own in `folder`. Returns its descriptor, or -1 and errno.
int make_hidden(const fs::path& folder, std::string& path) {
  for (u32 attempt = 0;; ++attempt) {
    path = folder / fmt::format("{}{}.{}{}", kPrefix, getpid(), attempt, kSuffix);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;  // another process with this number made it, elsewhere or earlier
    if (file < 0) return -1;
    (void)flock(file, LOCK_EX);  // if the file system has no locks, remove_abandoned cannot lock either
    struct stat about{};
    if (fstat(file, &about) != 0 || about.st_nlink > 0) return file;
    (void)close(file);  // another process removed it as abandoned before it was locked
  }
}

}  // namespace

NewFile::NewFile(std::string_view what, const std::string& path) : what_(what), path_(path) {
  [[maybe_unused]] static const bool kHandled = handle_signals();
  std::error_code none;
  const fs::file_status there = fs::status(path, none);
  if (is_directory(there)) throw file_error(what_, path_, "is a directory, not a file");
  if (exists(there) && !is_regular_file(there)) throw file_error(what_, path_, "is not a regular file");
  file_ = make_hidden(fs::path(path).parent_path(), beside_);
  if (file_ < 0) throw file_error(what_, path_, fmt::format("cannot be written: {}", std::strerror(errno)));
  if (is_unfinished.load(kRelaxed) || beside_.size() >= unfinished.size()) return;
  unfinished[beside_.copy(unfinished.data(), beside_.size())] = '\0';
  is_for_handler_ = true;
  is_unfinished.store(true, kRelease);  // pairs with remove_unfinished, which may interrupt another thread
}

NewFile::~NewFile() {
  if (!beside_.empty()) (void)unlink(beside_.c_str());
  if (is_for_handler_) is_unfinished.store(false, kRelaxed);
  (void)close(file_);  // releases the lock as well
}

void NewFile::write(std::string_view bytes) {
  while (error_ == 0 && !bytes.empty()) {
    const ssize_t n = ::write(file_, bytes.data(), bytes.size());
    if (n >= 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) error_ = errno;
  }
}

void NewFile::keep() {
  // A full disk may show only now. Without the sync, a crash could leave an empty file under the final name.
  if (error_ == 0 && fsync(file_) != 0 && errno != EINVAL) error_ = errno;
  if (error_ == 0 && std::rename(beside_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ != 0)
    throw OutputError(file_error(what_, path_, fmt::format("cannot be written: {}", std::strerror(error_))).what());
  beside_.clear();  // from now on another file may have the hidden name
}

void NewFile::remove_abandoned(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const int file = open(entry->path().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) (void)unlink(entry->path().c_str());
    (void)close(file);
  }
}

void NewFile::remove_unfinished() {
  if (is_unfinished.load(kAcquire)) (void)unlink(unfinished.data());  // pairs with the constructor's store
}

}  // namespace latchlab
