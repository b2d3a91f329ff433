#include "harness/host/pmu_groups.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "harness/trial/pmu_account.h"
#include "harness/host/pmu_access.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// A kernel whose answers a test controls.
class FakePerf final : public PerfCalls {
 public:
  std::function<int(const PerfCode&, bool joins)> refuse = [](const PerfCode&, bool) { return 0; };  ///< errno, or 0
  std::size_t most_files = 100;
  int read_error = 0;
  long cut = 0;  ///< number of bytes missing from each read

  /// Advances each counter by its config times `times`.
  void work(u64 times, u64 enabled_ns, u64 running_ns) {
    for (auto& [file, counter] : open_) counter.value += times * counter.code.config;
    enabled_ += enabled_ns;
    running_ += running_ns;
  }
  /// Returns the codes of the open counters, by group.
  std::vector<std::vector<u64>> groups() const {
    std::map<int, std::vector<u64>> by_leader;
    for (const auto& [file, counter] : open_) by_leader[counter.leader].push_back(counter.code.config);
    std::vector<std::vector<u64>> out;
    for (auto& [leader, configs] : by_leader) out.push_back(configs);
    return out;
  }
  std::size_t open_files() const { return open_.size(); }
  u32 reads = 0;

  int open(const PerfCode& code, int, int group) override {
    if (const int error = refuse(code, group != kNoGroup)) return -error;
    if (open_.size() == most_files) return -EMFILE;
    const int file = next_++;
    open_[file] = {.code = code, .leader = group == kNoGroup ? file : group, .value = 0};
    return file;
  }
  long read(int file, std::span<u64> into) override {
    ++reads;
    if (read_error != 0) return -read_error;
    std::vector<u64> all{0, enabled_, running_};
    for (const auto& [member, counter] : open_) {
      if (counter.leader == file) all.push_back(counter.value);
    }
    all[0] = all.size() - 3;
    REQUIRE(into.size() >= all.size());
    std::copy(all.begin(), all.end(), into.begin());
    return static_cast<long>(all.size() * sizeof(u64)) - cut;
  }
  void close(int file) override { REQUIRE(open_.erase(file) == 1); }

 private:
  struct Counter {
    PerfCode code;
    int leader = 0;
    u64 value = 0;
  };
  std::map<int, Counter> open_;
  int next_ = 3;
  u64 enabled_ = 1000, running_ = 500;  // times before the first read
};

PmuEvent event(std::string family, u64 config) {
  PmuEvent out;
  out.name = "e" + std::to_string(config);
  out.family = std::move(family);
  out.here = out.name;
  out.code = {.type = 4, .config = config, .config1 = 0, .config2 = 0};
  return out;
}

/// Returns three events of one family and one of another.
std::vector<PmuEvent> four() { return {event("a", 1), event("a", 2), event("a", 3), event("b", 5)}; }

/// Returns a `refuse` that fails with these errors, by the events' config.
auto refusing(std::map<u64, int> errors) {
  return [errors](const PerfCode& code, bool) { return errors.contains(code.config) ? errors.at(code.config) : 0; };
}

TEST_CASE("Events are counted between begin and end only, each with its times", "[pmu]") {
  FakePerf kernel;
  const std::vector<PmuEvent> events = four();
  PmuGroups groups(events, kernel);
  CHECK(kernel.groups() == std::vector<std::vector<u64>>{{1, 2, 3}, {5}});
  kernel.work(7, 70, 70);
  groups.begin();
  kernel.work(10, 10, 4);
  groups.end();
  kernel.work(1000, 999, 999);
  groups.begin();
  kernel.work(1, 10, 4);
  groups.end();
  CHECK(kernel.reads == 8);  // one for each group at each begin and end
  const std::vector<PmuCount> counts = groups.counts();
  for (std::size_t i = 0; i < events.size(); ++i) {
    CHECK(counts[i].raw == 11 * events[i].code.config);
    CHECK(counts[i].enabled_ns == 20);
    CHECK(counts[i].running_ns == 8);
    CHECK(counts[i].error == 0);
    CHECK_FALSE(counts[i].user_only);
  }
  const PmuResult result = pmu_account(events, {counts}, {}, 11);
  CHECK(result.events[3].total->raw == 55);
  CHECK(result.events[3].total->scaled == 55 * 20 / 8.0);
  CHECK(result.events[3].total->per_operation == 5 * 20 / 8.0);
}

TEST_CASE("The files of all groups are closed", "[pmu]") {
  FakePerf kernel;
  const std::vector<PmuEvent> events = four();
  {
    const PmuGroups groups(events, kernel);
    CHECK(kernel.open_files() == 4);
  }
  CHECK(kernel.open_files() == 0);
}

TEST_CASE("An event that the kernel does not have leaves the others alone, even if it is the first of a group",
          "[pmu]") {
  for (const u64 without : {1, 2}) {
    FakePerf kernel;
    kernel.refuse = refusing({{without, ENOENT}});
    const std::vector<PmuEvent> events = four();
    PmuGroups groups(events, kernel);
    CHECK(kernel.groups() == std::vector<std::vector<u64>>{{3 - without, 3}, {5}});
    groups.begin();
    kernel.work(10, 10, 10);
    groups.end();
    for (std::size_t i = 0; i < events.size(); ++i) {
      const bool there = events[i].code.config != without;
      CHECK(groups.counts()[i].raw == (there ? 10 * events[i].code.config : 0));
      CHECK(groups.counts()[i].error == (there ? 0 : ENOENT));
    }
  }
}

TEST_CASE("An event that no longer fits into a group begins the next one", "[pmu]") {
  FakePerf kernel;
  const std::vector<PmuEvent> events = {event("a", 1), event("a", 2), event("a", 3),
                                        event("a", 4), event("a", 5), event("b", 6)};
  // There are two counters, and event 4 can use neither.
  kernel.refuse = [&](const PerfCode& code, bool joins) {
    return code.config == 4 || (joins && kernel.groups().back().size() == 2) ? EINVAL : 0;
  };
  PmuGroups groups(events, kernel);
  CHECK(kernel.groups() == std::vector<std::vector<u64>>{{1, 2}, {3, 5}, {6}});
  groups.begin();
  kernel.work(10, 10, 10);
  groups.end();
  CHECK(groups.counts()[3].error == EINVAL);
  CHECK(groups.counts()[4].raw == 50);
  CHECK(groups.counts()[5].raw == 60);
}

TEST_CASE("If the kernel forbids counting inside of it, events are counted outside, if they can be", "[pmu]") {
  FakePerf kernel;
  kernel.refuse = [](const PerfCode& code, bool) { return code.exclude_kernel ? 0 : EACCES; };
  std::vector<PmuEvent> events = four();
  events.push_back(event("software", 3));  // context switches
  events.back().code.type = 1;
  PmuGroups groups(events, kernel);
  groups.begin();
  kernel.work(10, 10, 10);
  groups.end();
  const std::vector<PmuCount> counts = groups.counts();
  CHECK(counts[0].user_only);
  CHECK(counts[0].raw == 10);
  CHECK(counts[4].error == EACCES);
  CHECK_FALSE(counts[4].user_only);
  CHECK(pmu_account(events, {counts}, {}, 1).events[0].total->user_only);
}

TEST_CASE("If the kernel forbids all counting, every event reports it", "[pmu]") {
  FakePerf kernel;
  kernel.refuse = [](const PerfCode&, bool) { return EACCES; };
  const std::vector<PmuEvent> events = four();
  PmuGroups groups(events, kernel);
  groups.begin();
  groups.end();
  CHECK(kernel.reads == 0);
  for (const auto& one : pmu_account(events, {groups.counts()}, {}, 1).events) {
    REQUIRE_FALSE(one.total);
    CHECK_THAT(one.total.reason, Catch::StartsWith("EACCES: "));
  }
}

TEST_CASE("If files run out, a thread closes all of its own", "[pmu]") {
  FakePerf kernel;
  kernel.most_files = 3;
  std::vector<PmuEvent> events = four();
  events.push_back(event("energy", 9));
  events.back().of_packages = true;
  PmuGroups groups(events, kernel);
  CHECK(kernel.open_files() == 0);
  groups.begin();
  groups.end();
  for (std::size_t i = 0; i < events.size(); ++i) CHECK(groups.counts()[i].error == (i < 4 ? EMFILE : 0));
}

TEST_CASE("A short or failed read ends the counting of its group", "[pmu]") {
  for (const bool fails : {true, false}) {
    FakePerf kernel;
    const std::vector<PmuEvent> events = four();
    PmuGroups groups(events, kernel);
    groups.begin();
    kernel.work(10, 10, 10);
    groups.end();
    kernel.read_error = fails ? ENOSPC : 0;
    kernel.cut = fails ? 0 : 8;
    groups.begin();
    kernel.read_error = 0;
    kernel.cut = 0;
    kernel.work(10, 10, 10);
    groups.end();
    for (const PmuCount& count : groups.counts()) CHECK(count.error == (fails ? ENOSPC : EIO));
  }
}

TEST_CASE("A thread counts only thread events, and a package only package events", "[pmu]") {
  FakePerf kernel;
  std::vector<PmuEvent> events = four();
  events[1].of_packages = true;
  events[3].missing = "the processor has none";
  const PmuGroups thread(events, kernel);
  CHECK(kernel.groups() == std::vector<std::vector<u64>>{{1, 3}});
  FakePerf other;
  const PmuGroups package(events, other, 0);
  CHECK(other.groups() == std::vector<std::vector<u64>>{{2}});
}

// --- with the running kernel's own events ---

/// Returns the software events, or nothing if this system forbids counting them. It then warns, since the test shows
/// nothing.
std::unique_ptr<PmuGroups> of_kernel(const std::vector<PmuEvent>& events) {
  auto groups = std::make_unique<PmuGroups>(events, kernel_perf());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (groups->counts()[i].error == 0) continue;
    WARN(events[i].name << ": " << why_not_counted(groups->counts()[i].error, events[i]).text());
    return nullptr;
  }
  return groups;
}

std::vector<PmuEvent> only(std::string_view name) {
  std::vector<PmuEvent> all = pmu_events(kSoftwareFamily);
  std::erase_if(all, [&](const PmuEvent& one) { return one.name != name; });
  REQUIRE(all.size() == 1);
  return all;
}

/// Fresh pages, none of which has been touched yet.
class FreshPages {
 public:
  explicit FreshPages(std::size_t pages)
      : pages_(pages),
        memory_(static_cast<char*>(
            mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(memory_ != MAP_FAILED);
    // A kernel without huge pages refuses, which is fine.
    (void)madvise(memory_, pages * kPage, MADV_NOHUGEPAGE);
  }
  ~FreshPages() { munmap(memory_, pages_ * kPage); }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;

  /// Touches pages. Not instrumented, since the sanitizers' shadow pages would fault, too.
  __attribute__((no_sanitize("address", "thread"))) void touch(std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) *static_cast<volatile char*>(memory_ + i * kPage) = 1;
  }

 private:
  static constexpr std::size_t kPage = 4096;
  const std::size_t pages_;
  char* const memory_;
};

TEST_CASE("Page faults count the pages touched between begin and end", "[pmu]") {
  const std::vector<PmuEvent> events = only("page-faults");
  const auto groups = of_kernel(events);
  if (!groups) return;
  FreshPages pages(100);
  pages.touch(0, 1);  // from now on the pages that touch() itself needs are present
  groups->begin();
  groups->end();
  const u64 warm = groups->counts()[0].raw;
  pages.touch(1, 9);
  groups->begin();
  pages.touch(10, 37);
  groups->end();
  pages.touch(47, 10);
  groups->begin();
  pages.touch(57, 43);
  groups->end();
  const u64 faults = groups->counts()[0].raw - warm;
  CHECK(faults >= 37 + 43);
  CHECK(faults < 37 + 43 + 9);  // fewer extra faults than pages touched outside at a time; a sanitizer may cause some
  CHECK(groups->counts()[0].enabled_ns > 0);
  CHECK(groups->counts()[0].running_ns == groups->counts()[0].enabled_ns);
}

TEST_CASE("A thread that sleeps has context switches, and another thread's faults are not its own", "[pmu]") {
  const std::vector<PmuEvent> events = pmu_events(kSoftwareFamily);
  const auto groups = of_kernel(events);
  if (!groups) return;
  FreshPages pages(1000);
  groups->begin();
  const timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int i = 0; i < 5; ++i) nanosleep(&moment, nullptr);
  std::thread other([&] { pages.touch(0, 1000); });
  other.join();
  groups->end();
  const std::vector<PmuCount> counts = groups->counts();
  CHECK(counts[0].raw < 1000);
  CHECK(counts[1].raw >= 5);
}

TEST_CASE("If files run out, the soft limit is raised up to the hard limit", "[pmu]") {
  constexpr rlim_t kSoft = 40, kHard = 80;
  const pid_t child = fork();
  if (child == 0) {  // in a process of its own, since a lowered hard limit cannot be raised again
    const rlimit limit{.rlim_cur = kSoft, .rlim_max = kHard};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(200);
    PerfCode faults = only("page-faults")[0].code;
    faults.exclude_kernel = true;
    int file = -1, last = -1;
    while ((file = kernel_perf().open(faults, PerfCalls::kThisThread, PerfCalls::kNoGroup)) >= 0) last = file;
    _exit(file == -EMFILE ? last : 201);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) >= 200) {
    WARN("this system forbids counting, or opening so many files");
    return;
  }
  CHECK(WEXITSTATUS(status) == kHard - 1);
}

}  // namespace
}  // namespace latchlab
