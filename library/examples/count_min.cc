// A count-min sketch (Cormode and Muthukrishnan, 2005) that threads fill together: how often was each word seen, about?
//
// The sketch has four rows of counters, and a word counts in one of each. A row is a vector in a map. Each thread
// counts in rows of its own, and from time to time adds them to those of the map: one update a row, which is one step.
// A reader takes the least of a word's counters. It is never too small, and seldom too large.
#include <latchlab/map.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

using latchlab::UpdateFunction;
using latchlab::VectorStatus;

using Rows = latchlab::Map<std::uint64_t, std::vector<std::uint32_t>>;
constexpr std::size_t kRows = 4, kWidth = 2048;
constexpr std::uint64_t kWords = 1000;
constexpr int kSeen = 100'000, kMergeAfter = 1'000;

/// Returns the counter of a word in a row.
std::size_t place(std::uint64_t word, std::uint64_t row) {
  std::uint64_t hash = (word + 1) * 0x9e3779b97f4a7c15 + row * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 31) * 0x94d049bb133111eb;
  return (hash ^ hash >> 29) % kWidth;
}

/// Returns the n-th word that a thread sees. Small words are frequent.
std::uint64_t word_of(int n) {
  return static_cast<std::uint64_t>(n) % kWords % (static_cast<std::uint64_t>(n) % 7 + 1);
}

int main() {
  Rows rows;
  for (std::uint64_t row = 0; row < kRows; ++row) rows.insert(row, std::vector<std::uint32_t>(kWidth));

  std::vector<std::thread> threads;
  std::vector<int> wrong(2, 0);
  for (int& mine : wrong) {
    threads.emplace_back([&rows, &mine] {
      std::array<std::vector<std::uint32_t>, kRows> own;
      own.fill(std::vector<std::uint32_t>(kWidth));
      for (int n = 0; n < kSeen; ++n) {
        for (std::uint64_t row = 0; row < kRows; ++row) ++own[row][place(word_of(n), row)];
        if ((n + 1) % kMergeAfter != 0) continue;
        for (std::uint64_t row = 0; row < kRows; ++row) {
          const std::span<const std::uint32_t> counts(own[row]);
          mine += rows.update_vector(row, {UpdateFunction::kAdd, counts}) != VectorStatus::kDone;
          std::ranges::fill(own[row], 0);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::vector<std::uint32_t> truth(kWords, 0);
  for (int n = 0; n < kSeen; ++n) truth[word_of(n)] += 2;  // both threads
  int too_small = 0, too_large = 0;
  for (std::uint64_t word = 0; word < kWords; ++word) {
    std::uint32_t least = ~std::uint32_t{0};
    for (std::uint64_t row = 0; row < kRows; ++row)
      rows.visit(row, [&](const auto& counts) { least = std::min(least, counts[place(word, row)]); });
    too_small += least < truth[word];
    too_large += least > truth[word];
  }
  std::printf("%d of %d words are counted too often\n", too_large, static_cast<int>(kWords));
  return wrong[0] == 0 && wrong[1] == 0 && too_small == 0 && too_large < 10 ? 0 : 1;
}
