// The entries into the kernel of the models of allocators, against those of the allocators themselves on this machine:
// system calls and page faults of the same inserts.
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "src/base/rng.h"
#include "src/machine/flat_costs_testing.h"
#include "src/machine/modelled.h"
#include "src/machine/native.h"
#include "src/memory/numa.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr u32 kInserts = 100'000;
constexpr const char* kProgram = "allocator entries: the program that is traced";

struct Entries {
  u64 calls = 0, faults = 0;
};

/// Allocates as inserts into a radix tree do: a leaf each, and a node of one line now and then, which is replaced by
/// one of three lines later; few large nodes.
template <class M, class Touched>
void insert_like_a_tree(u32 inserts, Touched&& touched) {
  std::vector<void*> small_nodes;
  small_nodes.reserve(inserts);
  const auto make = [&](std::size_t bytes) {
    void* const block = M::allocate(bytes);
    touched(block, bytes);
    return block;
  };
  u64 state = 1;
  for (u32 i = 0; i < inserts; ++i) {
    (void)make(16);
    if (i % 3 == 0) small_nodes.push_back(make(64));
    if (i % 12 == 0) {
      (void)make(192);
      std::swap(small_nodes[splitmix64(state) % small_nodes.size()], small_nodes.back());
      M::deallocate(small_nodes.back(), 64);
      small_nodes.pop_back();
    }
    if (i % 96 == 0) (void)make(2112);
  }
}

/// Counts calls of the kernel and first touches of pages.
class CountedCosts final : public testing::FlatCosts {
 public:
  u64 reference(const FiberReference& reference) override {
    const u64 page = reference.address / kSmallPageBytes;
    if (counts && mapped_.contains(page) && touched_.insert(page).second) ++entries.faults;
    return FlatCosts::reference(reference);
  }
  u64 trap(u32, KernelCall, u64) override {
    if (counts) ++entries.calls;
    return 0;
  }
  void mapped(u64 address, u64 bytes, bool, const PagePlacement&) override {
    for (u64 at = address; at < address + bytes; at += kSmallPageBytes) mapped_.insert(at / kSmallPageBytes);
  }

  Entries entries;
  bool counts = false;

 private:
  std::set<u64> mapped_, touched_;
};

Entries modelled_entries(ModelledMalloc allocator) {
  ModelledWorld& world = ModelledWorld::get();
  world.reset();
  world.memory().serve_malloc_by(allocator);
  CountedCosts costs;
  world.exchange_costs(&costs);
  const auto outcome = world.run(1, costs, u64{1} << 30, [&](u32) {
    Modelled::deallocate(Modelled::allocate(64), 64);
    costs.counts = true;
    insert_like_a_tree<Modelled>(kInserts,
                                 [](void* block, std::size_t bytes) { Modelled::touch(block, bytes, Access::kWrite); });
  });
  world.exchange_costs(nullptr);
  world.reset();
  REQUIRE(outcome.failure == "");
  return costs.entries;
}

u64 faults_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<u64>(usage.ru_minflt);
}

// The tracer counts system calls from the first of these calls to the second, which tells the faults.
void mark(u64 faults) { (void)syscall(SYS_getppid, faults); }

TEST_CASE("allocator entries: the program that is traced", "[.][program]") {
  std::thread([] {
    Native::deallocate(Native::allocate(64), 64);
    std::vector<void*> room;
    const auto touch = [](void* block, std::size_t bytes) { std::memset(block, 1, bytes); };
    insert_like_a_tree<Native>(1, touch);
    mark(0);
    const u64 before = faults_of_this_thread();
    insert_like_a_tree<Native>(kInserts, touch);
    mark(faults_of_this_thread() - before);
  }).join();
}

[[noreturn]] void become_the_program(const std::string& library) {
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  if (!library.empty()) setenv("LD_PRELOAD", library.c_str(), 1);
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) execl("/proc/self/exe", "program", kProgram, nullptr);
  _exit(1);
}

/// Runs the program with a library preloaded; nothing where a process may not trace another.
std::optional<Entries> native_entries(const std::string& library) {
  const pid_t child = fork();
  if (child == 0) become_the_program(library);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
  ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  Entries entries;
  u32 marks = 0;
  bool entering = true;  // only one thread makes calls between the marks
  for (;;) {
    const pid_t stopped = waitpid(-1, &status, __WALL);
    if (stopped < 0) break;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (stopped == child) break;
      continue;
    }
    long signal = 0;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      user_regs_struct registers{};
      ptrace(PTRACE_GETREGS, stopped, nullptr, &registers);
      const bool is_mark = registers.orig_rax == SYS_getppid;
      if (is_mark && marks == 0) entering = true;
      if (entering && is_mark) {
        entries.faults = registers.rdi;
        ++marks;
      } else if (entering && marks == 1 && registers.orig_rax != SYS_getrusage) {
        ++entries.calls;
      }
      entering = !entering;
    } else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP) {
      signal = WSTOPSIG(status);
    }
    ptrace(PTRACE_SYSCALL, stopped, nullptr, signal);
  }
  return marks == 2 ? std::optional(entries) : std::nullopt;
}

bool near(u64 modelled, u64 native) {
  constexpr u64 kFew = 3;  // calls whose number depends on what the thread did before
  const u64 apart = modelled > native ? modelled - native : native - modelled;
  return apart <= std::max(kFew, native / 10);
}

TEST_CASE("allocator entries: the models enter the kernel as often as the allocators, within a tenth",
          "[machine][no-asan][no-tsan]") {
  struct Row {
    ModelledMalloc allocator;
    std::string library;
  };
  const std::vector<Row> rows{{ModelledMalloc::kGlibc, ""},
                              {ModelledMalloc::kTcmalloc, "libtcmalloc_minimal.so.4"},
                              {ModelledMalloc::kJemalloc, "libjemalloc.so.2"},
                              {ModelledMalloc::kMimalloc, "libmimalloc.so.2.0"},
                              {ModelledMalloc::kTbb, "libtbbmalloc_proxy.so.2"}};
  for (const Row& row : rows) {
    void* const there = row.library.empty() ? nullptr : dlopen(row.library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (there == nullptr && !row.library.empty() && std::strstr(dlerror(), "cannot open shared object") != nullptr) {
      WARN("not compared: " << row.library << " is not installed");
      continue;
    }
    const std::optional<Entries> native = native_entries(row.library);
    if (!native) {
      WARN("not compared: a process may not trace another here");
      return;
    }
    const Entries modelled = modelled_entries(row.allocator);
    INFO((row.library.empty() ? "glibc" : row.library) << ": calls " << modelled.calls << " for " << native->calls
                                                       << ", faults " << modelled.faults << " for " << native->faults);
    CHECK(near(modelled.calls, native->calls));
    CHECK(near(modelled.faults, native->faults));
    CHECK(native->faults > 1000);
  }
}

}  // namespace
}  // namespace latchlab
