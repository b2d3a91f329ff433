#include "harness/trial/dealer.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("every operation is dealt once, in order, up to the end") {
  constexpr u64 kEnd = 10 * kRoundRequests + 17;
  Dealer dealer(3, 0, kEnd);
  u64 next = 0;
  for (u32 room : {kRoundRequests, kSliceRequests, kRoundRequests - 1, 3 * kSliceRequests + 5}) {
    const Dealer::Claim claim = dealer.deal(0, room);
    CHECK(claim.first == next);
    CHECK(claim.count == room / kSliceRequests * kSliceRequests);
    next += claim.count;
  }
  CHECK(dealer.deal(0, kSliceRequests - 1).count == 0);  // no room for a slice, which does not mean the end
  for (;;) {
    const Dealer::Claim claim = dealer.deal(0, kRoundRequests);
    if (claim.count == 0) break;
    CHECK(claim.first == next);
    next += claim.count;
  }
  CHECK(next == kEnd);
  CHECK(dealer.deal(0, kRoundRequests).count == 0);
}

TEST_CASE("end_after moves the end in both directions, but not beyond the end of the stream") {
  Dealer dealer(2, 0, 3 * kRoundRequests);
  CHECK(dealer.deal(0, kRoundRequests).count == kRoundRequests);
  dealer.end_after(5 * kRoundRequests);  // beyond the end of the stream
  CHECK(dealer.deal(0, kRoundRequests).count == kRoundRequests);
  dealer.end_after(7);
  CHECK(dealer.deal(0, kRoundRequests).count == 7);
  CHECK(dealer.deal(0, kRoundRequests).count == 0);
  CHECK(dealer.next() == 2 * kRoundRequests + 7);  // not at the end of a slice
  CHECK(dealer.left() == kRoundRequests - 7);
  dealer.end_after(100);
  const Dealer::Claim more = dealer.deal(0, kRoundRequests);
  CHECK(more.first == 2 * kRoundRequests + 7);  // no operation was skipped
  CHECK(more.count == 100);
  dealer.end_after(kRoundRequests);
  CHECK(dealer.deal(0, kRoundRequests).count == kRoundRequests - 107);
  CHECK(dealer.deal(0, kRoundRequests).count == 0);
}

TEST_CASE("a round has fewer operations if they have many keys, but at least a slice", "[multi-get]") {
  CHECK(Dealer(1, 0, 1, 1).round() == kRoundRequests);
  CHECK(Dealer(1, 0, 1, 7).round() == 4 * kSliceRequests);  // 8192 / 7 = 1170
  CHECK(Dealer(1, 0, 1, 64).round() == kSliceRequests);
  CHECK(Dealer(1, 16 * 512, 1, 7).round() == 512);  // the window allows fewer
}

TEST_CASE("threads that claim at the same time get different operations") {
  constexpr u64 kClaims = 200;
  Dealer dealer(4, 0, kClaims * kSliceRequests);
  std::vector<std::vector<u64>> got(4);
  std::vector<std::thread> threads;
  for (std::vector<u64>& mine : got) {
    threads.emplace_back([&] {
      for (auto claim = dealer.deal(0, kSliceRequests); claim.count != 0; claim = dealer.deal(0, kSliceRequests))
        mine.push_back(claim.first);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<u64> all;
  for (const std::vector<u64>& mine : got) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == kClaims);
  for (u64 i = 0; i < all.size(); ++i) CHECK(all[i] == i * kSliceRequests);
}

TEST_CASE("each thread claims its own part of a stream in parts, in order, to its end") {
  Dealer dealer(3, 0, {0, 1000, 1000, 5000});
  CHECK(dealer.deal(0, kSliceRequests).first == 0);
  CHECK(dealer.deal(2, kSliceRequests).first == 1000);
  CHECK(dealer.deal(1, kSliceRequests).count == 0);  // its part is empty
  CHECK(dealer.in_parts());
  CHECK(dealer.left_for(0) == 1000 - kSliceRequests);
  CHECK(dealer.left_for(1) == 0);
  CHECK(dealer.left_for(2) == 4000 - kSliceRequests);
  const Dealer shared(3, 0, 5000);
  CHECK_FALSE(shared.in_parts());
  CHECK(shared.left_for(1) == 5000);
  CHECK(dealer.deal(2, kSliceRequests).first == 1000 + kSliceRequests);
  CHECK(dealer.deal(0, kRoundRequests).count == 1000 - kSliceRequests);
  CHECK(dealer.deal(0, kRoundRequests).count == 0);
  dealer.end_after(100);  // all operations left are in the last part
  CHECK(dealer.deal(2, kRoundRequests).count == 100);
  CHECK(dealer.next() == 1000);
  CHECK(dealer.end_of_first() == 1000);
  CHECK(dealer.left() == 4000 - 2 * kSliceRequests - 100);
  dealer.end_after(~u64{0});
  CHECK(dealer.deal(2, kRoundRequests).count == 4000 - 2 * kSliceRequests - 100);

  Dealer halves(2, 0, {0, 1000, 4000});
  halves.end_after(400);  // in proportion to the parts' lengths
  CHECK(halves.deal(0, kRoundRequests).count == 100);
  CHECK(halves.deal(1, kRoundRequests).count == 300);
}

TEST_CASE("a section is dealt to its end in shrinking claims, and the next one after next_section") {
  constexpr u64 kFirstEnd = 3 * kRoundRequests, kSecondEnd = kFirstEnd + kSliceRequests,
                kThirdEnd = kSecondEnd + kRoundRequests;
  Dealer dealer(2, 0, {0, kThirdEnd}, {kFirstEnd, kSecondEnd, kThirdEnd});
  dealer.in_sections(true);
  u64 next = 0;
  const auto deal_all = [&] {
    for (;;) {
      const u64 left = (dealer.section() == 0 ? kFirstEnd : dealer.section() == 1 ? kSecondEnd : kThirdEnd) - next;
      const Dealer::Claim claim = dealer.deal(0, kRoundRequests);
      if (claim.count == 0) return;
      CHECK(claim.first == next);
      CHECK(claim.count % kSliceRequests == 0);
      CHECK(claim.count <= std::max<u64>(left / 2, kSliceRequests));  // the rest is for both threads
      next += claim.count;
    }
  };
  for (const u64 end : {kFirstEnd, kSecondEnd, kThirdEnd}) {
    deal_all();
    CHECK(next == end);
    CHECK(dealer.next() == end);
    CHECK(dealer.left() == kThirdEnd - end);
    CHECK(dealer.next_section() == (end != kThirdEnd));
  }
  CHECK(dealer.section() == 2);

  Dealer cut(2, 0, {0, kThirdEnd}, {kFirstEnd, kSecondEnd, kThirdEnd});
  cut.in_sections(true);
  cut.end_after(kFirstEnd);  // where a section ends
  while (cut.deal(0, kRoundRequests).count != 0) {}
  CHECK(cut.next() == kFirstEnd);
  CHECK_FALSE(cut.next_section());
  cut.end_after(~u64{0});
  CHECK(cut.next_section());
  cut.in_sections(false);  // deals across the ends of sections
  CHECK(cut.deal(0, kRoundRequests).count == kRoundRequests);
  CHECK(cut.next() > kSecondEnd);
}

TEST_CASE("a moving window is long compared to the operations that threads hold") {
  CHECK(Dealer(2, 0, 1).round() == kRoundRequests);
  CHECK(Dealer(2, 16'000'000, 1).round() == kRoundRequests);
  for (const u32 threads : {1, 2, 56}) {
    for (const u64 window : {u64{1}, u64{1000}, u64{10'000}, u64{100'000}, u64{1'000'000}}) {
      const Dealer dealer(threads, window, ~u64{0});
      CHECK(dealer.round() % kSliceRequests == 0);
      CHECK((dealer.round() == kSliceRequests || u64{dealer.round()} * threads * 16 <= window));
    }
  }
}

}  // namespace
}  // namespace latchlab
