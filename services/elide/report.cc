#include "services/elide/report.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

namespace latchlab::elide {
namespace {

// A file that is written through a buffer. After an error nothing more is written.
class Output {
 public:
  explicit Output(int file) : file_(file) {}

  void raw(std::string_view text) {
    for (const char letter : text) {
      if (used_ == sizeof buffer_) (void)flush();
      buffer_[used_++] = letter;
    }
  }

  [[gnu::format(printf, 2, 3)]] void print(const char* format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    raw(text);
  }

  // Writes a string of JSON. A byte that is no ASCII becomes the letter of this number: names of files are only shown.
  void string(std::string_view text) {
    raw("\"");
    for (const char letter : text) {
      const auto byte = static_cast<unsigned char>(letter);
      if (byte < 0x20 || byte >= 0x7f || letter == '"' || letter == '\\') {
        print("\\u%04x", byte);
      } else {
        raw({&letter, 1});
      }
    }
    raw("\"");
  }

  [[nodiscard]] bool flush() {
    for (std::size_t done = 0; done < used_ && right_;) {
      const ssize_t wrote = write(file_, buffer_ + done, used_ - done);
      if (wrote < 0 && errno == EINTR) continue;
      right_ = wrote > 0;
      done += static_cast<std::size_t>(wrote > 0 ? wrote : 0);
    }
    used_ = 0;
    return right_;
  }

 private:
  int file_;
  bool right_ = true;
  std::size_t used_ = 0;
  char buffer_[4096];
};

struct Path {
  Path(std::string_view folder, const char* ending) {
    std::snprintf(text, sizeof text, "%.*s/%d.%s", static_cast<int>(folder.size()), folder.data(), getpid(), ending);
  }
  char text[PATH_MAX];
};

void write_where(Output& out, const void* lock) {
  Dl_info info;
  if (lock == nullptr || dladdr(lock, &info) == 0 || info.dli_fname == nullptr) {
    out.raw(R"(, "object": null, "offset": null, "symbol": null)");
    return;
  }
  out.raw(R"(, "object": )");
  out.string(info.dli_fname);
  out.print(R"(, "offset": %td, "symbol": )",
            static_cast<const char*>(lock) - static_cast<const char*>(info.dli_fbase));
  if (info.dli_sname == nullptr) {
    out.raw("null");
  } else {
    out.string(info.dli_sname);
  }
}

void write_lock(Output& out, const LockTotal& lock) {
  if (lock.lock == nullptr) {
    out.raw(R"({"address": null)");
  } else {
    out.print(R"({"address": "0x%)" PRIxPTR "\"", reinterpret_cast<std::uintptr_t>(lock.lock));
  }
  write_where(out, lock.lock);
  const u64 acquisitions = lock.commits + lock.inside + lock.fallbacks + lock.direct + lock.passed;
  out.print(R"(, "kind": %d, "waits": %s)", lock.kind, lock.waits ? "true" : "false");
  const std::pair<const char*, u64> numbers[] = {{"acquisitions", acquisitions}, {"commits", lock.commits},
                                                 {"inside", lock.inside},        {"fallbacks", lock.fallbacks},
                                                 {"direct", lock.direct},        {"passed", lock.passed},
                                                 {"refused", lock.refused},      {"begins", lock.begins}};
  for (const auto& [name, number] : numbers) out.print(R"(, "%s": %)" PRIu64, name, number);
  out.raw(R"(, "aborts": {)");
  for (std::size_t i = 0; i < kCauses; ++i) {
    const std::string_view name = kWords<Cause>[i];
    out.print(R"(%s"%.*s": %)" PRIu64, i == 0 ? "" : ", ", static_cast<int>(name.size()), name.data(), lock.aborts[i]);
  }
  out.raw(R"(}, "retries": {)");
  for (std::size_t i = 0; i < kBudgets.size(); ++i) {
    out.print(R"(%s"%u": %)" PRIu64, i == 0 ? "" : ", ", kBudgets[i], lock.retries[i]);
  }
  out.raw("}}");
}

}  // namespace

void LockTotal::add(const LockEntry& entry) {
  const LockCounts& counts = entry.counts;
  lock = entry.lock;
  kind = entry.kind.load(kRelaxed);
  waits |= entry.waits.load(kRelaxed);
  begins += counts.begins.value();
  commits += counts.commits.value();
  inside += counts.inside.value();
  fallbacks += counts.fallbacks.value();
  direct += counts.direct.value();
  passed += counts.passed.value();
  refused += counts.refused.value();
  for (std::size_t i = 0; i < kCauses; ++i) aborts[i] += counts.aborts[i].value();
  for (std::size_t i = 0; i < kBudgets.size(); ++i) retries[i] += entry.retries.load(kRelaxed) == kBudgets[i];
}

void LockTotal::add(const LockTotal& other) {
  kind = std::max(kind, other.kind);
  waits |= other.waits;
  begins += other.begins;
  commits += other.commits;
  inside += other.inside;
  fallbacks += other.fallbacks;
  direct += other.direct;
  passed += other.passed;
  refused += other.refused;
  for (std::size_t i = 0; i < kCauses; ++i) aborts[i] += other.aborts[i];
  for (std::size_t i = 0; i < kBudgets.size(); ++i) retries[i] += other.retries[i];
}

std::size_t merge(LockTotal* locks, std::size_t number) {
  std::sort(locks, locks + number, [](const LockTotal& a, const LockTotal& b) { return a.lock < b.lock; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < number; ++i) {
    if (locks[i].empty()) continue;
    if (kept != 0 && locks[kept - 1].lock == locks[i].lock) {
      locks[kept - 1].add(locks[i]);
    } else {
      locks[kept++] = locks[i];
    }
  }
  return kept;
}

void write_report(std::string_view folder, std::string_view how, const LockTotal* locks, std::size_t number) {
  const Path begun(folder, "begun"), written(folder, "json");
  const int file = open(begun.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  char program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  Output out(file);
  out.print(R"({"pid": %d, "program": )", getpid());
  out.string({program, static_cast<std::size_t>(length < 0 ? 0 : length)});
  out.raw(R"(, "mode": )");
  out.string(how);
  out.raw(R"(, "locks": [)");
  for (std::size_t i = 0; i < number; ++i) {
    out.raw(i == 0 ? "\n" : ",\n");
    write_lock(out, locks[i]);
  }
  out.raw("]}\n");
  const bool right = out.flush();
  close(file);
  if (right) {
    (void)rename(begun.text, written.text);
  } else {
    (void)unlink(begun.text);
  }
}

void write_mark(std::string_view folder) {
  const int error = errno;
  const Path mark(folder, "started");
  if (const int file = open(mark.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); file >= 0) close(file);
  errno = error;
}

}  // namespace latchlab::elide
