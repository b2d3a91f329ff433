// Counts what a schedule of the race finder executes. The finder and the modelled machine share one template, and what
// the model needs must not slow down the search for races.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/machine/race_finder.h"
#include "src/testing/catch.h"

namespace latchlab::testing {
namespace {

using Word = Simulated::Atomic<u64>;

/// Fibers that increment a counter by transactions, or under a lock after two aborts, and pass blocks on to each other.
/// So a schedule has accesses, conflicts, aborts, waits, and memory that is allocated and freed.
struct Counts {
  alignas(64) Word lock{0};
  alignas(64) Word count{0};
  alignas(64) Simulated::Atomic<Word*> passed{nullptr};
  ~Counts() { free(passed.load(kRelaxed)); }
  static void free(Word* cell) {
    if (cell != nullptr) Simulated::deallocate(cell, sizeof(Word));
  }
  bool elided() {
    return Simulated::transact([&] {
             if (lock.load(kRelaxed) != 0) Simulated::abort<kBusyCode>();
             count.store(count.load(kRelaxed) + 1, kRelaxed);
           }) == kCommitted;
  }
  void locked() {
    do Simulated::wait_until(lock, [](u64 v) { return v == 0; });
    while (lock.exchange(1, kAcquire) != 0);
    count.store(count.load(kRelaxed) + 1, kRelaxed);
    lock.store(0, kRelease);
  }
  void fiber(u32) {
    for (int i = 0; i < 6; ++i) {
      if (!elided() && !elided()) locked();
      free(passed.exchange(new (Simulated::allocate(sizeof(Word))) Word(1), kAcqRel));
    }
  }
  std::string check() { return count.load(kRelaxed) == 18 ? "" : "an increment was lost"; }
};

constexpr std::string_view kProgram = "race finder: the program whose instructions are counted";
constexpr u32 kFew = 20, kMany = 220;

TEST_CASE(std::string(kProgram), "[.][program]") {
  const char* const schedules = std::getenv("LATCHLAB_SCHEDULES");
  REQUIRE(schedules != nullptr);
  const auto count = static_cast<u32>(std::atoi(schedules));
  const RaceReport report = find_races<Counts>({.seed = 1, .schedules = count, .abort_rate = 0.1});
  CHECK(report.failures == 0);
  CHECK(report.aborts > count);
}

/// Runs the program under cachegrind, and returns its instructions; nothing if it fails or valgrind is not installed.
std::optional<double> instructions(u32 schedules) {
  const std::string command = "env -u LATCHLAB_SEED LATCHLAB_SCHEDULES=" + std::to_string(schedules) +
                              " valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null /proc/" +
                              std::to_string(getpid()) + "/exe '" + std::string(kProgram) + "' 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> out(popen(command.c_str(), "r"), pclose);
  std::optional<double> found;
  char line[512];
  while (out != nullptr && std::fgets(line, sizeof line, out.get()) != nullptr) {
    const std::string_view text = line;
    const std::size_t at = text.find("I   refs:");
    if (at == std::string_view::npos) continue;
    double number = 0;
    for (const char c : text.substr(at)) number = c >= '0' && c <= '9' ? 10 * number + (c - '0') : number;
    found = number;
  }
  return found;
}

TEST_CASE("race finder: a schedule executes as many instructions as before, within 3 %", "[release][race]") {
  if (std::string_view(__VERSION__).substr(0, 3) != "12.") {
    WARN("skipped: the number of before is that of g++ 12");
    return;
  }
  const auto few = instructions(kFew), many = instructions(kMany);
  if (!few || !many) {
    WARN("skipped: valgrind is not installed, or cannot run this program");
    return;
  }
  const double now = (*many - *few) / (kMany - kFew);
  std::printf("race finder: %.0f instructions a schedule\n", now);
  constexpr double kBefore = 187'000;  // with g++ 12.2, -O2, each file of src/machine compiled alone
  CHECK(std::abs(now / kBefore - 1) <= 0.03);
}

}  // namespace
}  // namespace latchlab::testing
