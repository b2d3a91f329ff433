#include "src/model/pages.h"

#include <map>
#include <set>
#include <vector>

#include "src/model/machine_file.h"
#include "src/testing/catch.h"

namespace latchlab::model {
namespace {

constexpr u64 kBase = u64{1} << 40;
constexpr u64 kPage = 4096;

Parameters haswell() {
  Parameters p = MachineFile::of(Spec::parse("haswell-ep")).parameters();
  p.kernel.marks_per_s = 0;
  p.kernel.marks_after_ms = 0;
  p.kernel.mark_period_ms = 0;
  p.kernel.clear_ns_per_byte = 0.25;  // a whole number of ticks a page
  return p;
}

Ticks fault(Pages& pages, u64 address, u32 cluster, Ticks now) {
  return pages.fault(pages.at(address, cluster), cluster, now);
}

TEST_CASE("Model pages: the first touch decides the home, and clears the page") {
  const Parameters p = haswell();
  Pages pages(p, 1);
  pages.map(kBase, 4 * kPage, {}, false);
  CHECK_FALSE(pages.at(kBase, 2).present);
  const Ticks took = fault(pages, kBase + 100, 2, 1000) - 1000;
  CHECK(took == ticks(p.kernel.fault_ns) + ticks(p.kernel.clear_ns_per_byte * kPage));
  CHECK(pages.at(kBase + 4095, 0).present);
  CHECK(pages.at(kBase, 0).home == 2);
  CHECK_FALSE(pages.at(kBase + kPage, 0).present);
}

TEST_CASE("Model pages: memory that was never mapped is present, at home with its first user") {
  Pages pages(haswell(), 1);
  CHECK(pages.at(kBase, 3).present);
  CHECK(pages.at(kBase, 1).home == 3);
}

TEST_CASE("Model pages: interleaved pages take turns among the allowed clusters, bound ones do not") {
  Pages pages(haswell(), 1);
  pages.map(kBase, 8 * kPage, {Homes::Kind::kInterleave, 0b1011}, false);
  pages.map(kBase + 8 * kPage, 8 * kPage, {Homes::Kind::kBind, 0b0100}, false);
  u32 of[4]{};
  for (u64 i = 0; i < 6; ++i) {
    (void)fault(pages, kBase + i * kPage, 2, 0);
    ++of[pages.at(kBase + i * kPage, 2).home];
    (void)fault(pages, kBase + (8 + i) * kPage, 0, 0);
    CHECK(pages.at(kBase + (8 + i) * kPage, 0).home == 2);
  }
  CHECK((of[0] == 2 && of[1] == 2 && of[2] == 0 && of[3] == 2));
}

TEST_CASE("Model pages: a huge page is one page, with one fault that clears it all") {
  const Parameters p = haswell();
  Pages pages(p, 1);
  pages.map(kBase, u64{2} << 20, {}, true);
  const Ticks took = fault(pages, kBase + 12345, 1, 0);
  CHECK(took == ticks(p.kernel.fault_ns) + static_cast<Ticks>(p.kernel.clear_ns_per_byte * kTicksPerNs * (1 << 21)));
  CHECK(pages.at(kBase + (u64{1} << 20), 0).present);
  CHECK(pages.at(kBase + (u64{1} << 20), 0).tag() == pages.at(kBase, 0).tag());
}

TEST_CASE("Model pages: unmapped pages are untouched again") {
  Pages pages(haswell(), 1);
  pages.map(kBase, 4 * kPage, {}, false);
  for (u64 i = 0; i < 4; ++i) (void)fault(pages, kBase + i * kPage, 0, 0);
  pages.unmap(kBase + kPage, kPage);
  pages.map(kBase + kPage, kPage, {Homes::Kind::kBind, 0b10}, false);
  CHECK(pages.at(kBase, 0).present);
  CHECK_FALSE(pages.at(kBase + kPage, 0).present);
  (void)fault(pages, kBase + kPage, 0, 0);
  CHECK(pages.at(kBase + kPage, 0).home == 1);
  CHECK(pages.at(kBase + 2 * kPage, 3).home == 0);
}

TEST_CASE("Model pages: a range of more pages than are known is unmapped at once") {
  Pages pages(haswell(), 1);
  pages.map(kBase, u64{1} << 40, {}, false);
  (void)fault(pages, kBase, 0, 0);
  (void)fault(pages, kBase + (u64{1} << 39), 0, 0);
  pages.unmap(kBase + kPage, (u64{1} << 40) - kPage);
  pages.map(kBase + kPage, (u64{1} << 40) - kPage, {}, false);
  CHECK(pages.at(kBase, 0).present);
  CHECK_FALSE(pages.at(kBase + (u64{1} << 39), 0).present);
}

TEST_CASE("Model pages: many pages") {
  Pages pages(haswell(), 1);
  pages.map(kBase, 100'000 * kPage, {}, false);
  for (u64 i = 0; i < 100'000; ++i) (void)fault(pages, kBase + i * kPage, i % 4, 0);
  u64 wrong = 0;
  for (u64 i = 0; i < 100'000; ++i) wrong += pages.at(kBase + i * kPage, 0).home != i % 4;
  CHECK(wrong == 0);
}

TEST_CASE("Model pages: faults overlap, system calls do not, and a fault waits for the call before it") {
  const Parameters p = haswell();
  Pages pages(p, 1);
  pages.map(kBase, 4 * kPage, {}, false);
  const Ticks took = fault(pages, kBase, 0, 0);
  CHECK(fault(pages, kBase + kPage, 0, 1) == took + 1);
  const Ticks protect = ticks(p.kernel.mprotect_ns);
  const Ticks called = pages.call(2);
  CHECK(called == took + 1 + protect);  // waits for both faults
  CHECK(pages.call(3) == called + protect);
  CHECK(fault(pages, kBase + 2 * kPage, 0, 4) == called + protect + took);
}

TEST_CASE(
    "Model pages: marks come at their rate, over all present pages, and a fault that clears nothing removes one") {
  Parameters p = haswell();
  p.kernel.marks_per_s = 1e6;  // one a microsecond
  Pages pages(p, 1);
  pages.map(kBase, 16 * kPage, {}, false);
  CHECK(pages.next_mark(ticks(1e6)) == nullptr);  // no page is present
  for (u64 i = 0; i < 16; ++i) (void)fault(pages, kBase + i * kPage, 0, 0);
  std::set<u64> seen;
  u32 marks = 0;
  for (u32 us = 1001; us <= 1200; ++us) {
    while (const Pages::Page* const page = pages.next_mark(ticks(us * 1e3))) {
      ++marks;
      seen.insert(page->number);
      const u64 address = page->number << kSmallPageBits;
      CHECK(pages.at(address, 0).marked);
      const Ticks now = ticks(1e9);
      CHECK(fault(pages, address, 0, now) == now + ticks(p.kernel.mark_ns));
      CHECK_FALSE(pages.at(address, 0).marked);
    }
  }
  CHECK(marks == 200);
  CHECK(seen.size() == 16);
}

TEST_CASE(
    "Model pages: a page is marked once in a period, however fast marks may come, from one that the seed decides") {
  Parameters p = haswell();
  p.kernel.marks_per_s = 1e6;
  p.kernel.mark_period_ms = 1;
  std::set<u64> firsts;
  for (u64 seed = 1; seed <= 20; ++seed) {
    Pages pages(p, seed);
    pages.map(kBase, 16 * kPage, {}, false);
    for (u64 i = 0; i < 16; ++i) (void)fault(pages, kBase + i * kPage, 0, 0);
    std::vector<u64> marked;
    for (u32 us = 1; us <= 3000; ++us) {
      while (const Pages::Page* const page = pages.next_mark(ticks(us * 1e3))) {
        marked.push_back(page->number);
        (void)fault(pages, page->number << kSmallPageBits, 0, 0);
      }
    }
    REQUIRE(marked.size() == 3 * 16);
    CHECK(std::set<u64>(marked.begin(), marked.begin() + 16).size() == 16);
    CHECK(std::equal(marked.begin(), marked.begin() + 32, marked.begin() + 16));
    firsts.insert(marked[0]);
  }
  CHECK(firsts.size() > 5);
}

TEST_CASE("Model pages: a page that is mapped again is marked as often as the others") {
  Parameters p = haswell();
  p.kernel.marks_per_s = 1e6;
  p.kernel.mark_period_ms = 1;
  Pages pages(p, 1);
  for (u64 again = 0; again < 5; ++again) {
    pages.map(kBase, 4 * kPage, {}, false);
    for (u64 i = 0; i < 4; ++i) (void)fault(pages, kBase + i * kPage, 0, 0);
    if (again < 4) pages.unmap(kBase, 2 * kPage);
  }
  std::map<u64, u64> marks;
  for (u32 us = 1; us <= 3000; ++us) {
    while (const Pages::Page* const page = pages.next_mark(ticks(us * 1e3))) {
      ++marks[page->number];
      (void)fault(pages, page->number << kSmallPageBits, 0, 0);
    }
  }
  CHECK(marks.size() == 4);
  for (const auto& [number, count] : marks) CHECK(count == 3);
  pages.map(kBase, kPage, {Homes::Kind::kBind, 0b1}, false);
  (void)fault(pages, kBase, 0, ticks(3e6));
  while (const Pages::Page* const page = pages.next_mark(ticks(9e6))) CHECK(page->number != kBase >> kSmallPageBits);
}

TEST_CASE("Model pages: an unmapped page is not marked") {
  Parameters p = haswell();
  p.kernel.marks_per_s = 1e6;
  Pages pages(p, 1);
  pages.map(kBase, 2 * kPage, {}, false);
  for (u64 i = 0; i < 2; ++i) (void)fault(pages, kBase + i * kPage, 0, 0);
  pages.unmap(kBase, kPage);
  u64 marks = 0;
  while (const Pages::Page* const page = pages.next_mark(ticks(1e5))) {
    CHECK(page->number == (kBase + kPage) >> kSmallPageBits);
    ++marks;
    break;
  }
  CHECK(marks == 1);
}

TEST_CASE("Model pages: only pages without a placement of their own are marked") {
  Parameters p = haswell();
  p.kernel.marks_per_s = 1e6;
  Pages pages(p, 1);
  pages.map(kBase, kPage, {Homes::Kind::kInterleave, 0b11}, false);
  pages.map(kBase + kPage, kPage, {}, false);
  pages.map(kBase + 2 * kPage, kPage, {Homes::Kind::kBind, 0b1}, false);
  pages.map(kBase + 3 * kPage, kPage, {Homes::Kind::kLocal}, false);
  for (u64 i = 0; i < 4; ++i) (void)fault(pages, kBase + i * kPage, 0, 0);
  std::vector<u64> marked;
  while (const Pages::Page* const page = pages.next_mark(ticks(1e5))) marked.push_back(page->number);
  CHECK(marked == std::vector<u64>{(kBase + kPage) >> kSmallPageBits});
}

TEST_CASE("Model pages: a large page counts as the small ones in it when pages are marked") {
  Parameters p = haswell();
  p.kernel.marks_per_s = 1e6;
  Pages pages(p, 1);
  pages.map(kBase, 512 * kPage, {}, true);
  (void)fault(pages, kBase, 0, 0);
  u64 marks = 0;
  for (u64 us = 1; us <= 5120; ++us) {
    while (const Pages::Page* const page = pages.next_mark(ticks(static_cast<double>(us) * 1e3))) {
      ++marks;
      (void)fault(pages, page->number << kSmallPageBits, 0, 0);
    }
  }
  CHECK(marks == 10);
}

TEST_CASE("Model pages: the first mark comes after a delay, or at once if pages were loaded") {
  Parameters p = haswell();
  p.kernel.marks_per_s = 1e6;
  p.kernel.marks_after_ms = 2;
  const bool loaded = GENERATE(false, true);
  Pages pages(p, 1);
  pages.map(kBase, kPage, {}, false);
  if (loaded) {
    pages.load(pages.at(kBase, 0), 0);
  } else {
    (void)fault(pages, kBase, 0, 0);
  }
  CHECK((pages.next_mark(ticks(1.9e6)) != nullptr) == loaded);
  CHECK((pages.next_mark(ticks(2.1e6)) != nullptr) != loaded);
}

TEST_CASE("Model pages: pages that are loaded are present, and know whether they were loaded from afar") {
  Pages pages(haswell(), 1);
  pages.map(kBase, 2 * kPage, {Homes::Kind::kBind, 0b1}, false);
  pages.load(pages.at(kBase, 0), 0);
  pages.load(pages.at(kBase + kPage, 1), 1);
  CHECK(pages.at(kBase, 0).present);
  CHECK_FALSE(pages.at(kBase, 0).loaded_from_afar);
  CHECK(pages.at(kBase + kPage, 0).home == 0);
  CHECK(pages.at(kBase + kPage, 0).loaded_from_afar);
}

}  // namespace
}  // namespace latchlab::model
