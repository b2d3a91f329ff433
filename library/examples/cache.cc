// A cache whose entries expire, used by two threads.
//
// An entry has eight bytes, so the map keeps it in the index itself. modify decides and changes in one step: a fresh
// entry of another thread is never replaced, and a refreshed one is never erased.
#include <latchlab/map.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <thread>
#include <vector>

struct Entry {
  std::uint32_t answer;
  std::uint32_t expires;  // in seconds
};

using Cache = latchlab::Map<std::uint64_t, Entry>;
constexpr std::uint32_t kLifetime = 60;

std::uint32_t compute(std::uint64_t key) { return static_cast<std::uint32_t>(key * key); }

/// Returns the answer for the key from the cache, or computes it.
std::uint32_t answer_of(Cache& cache, std::uint64_t key, std::uint32_t now) {
  if (const auto entry = cache.find(key); entry && entry->expires > now) return entry->answer;
  const Entry made{compute(key), now + kLifetime};  // outside modify, which should be short
  return cache.modify(key, [&](std::optional<Entry> there) { return there && there->expires > now ? *there : made; })
      .after->answer;
}

/// Erases the entries that have expired.
void sweep(Cache& cache, std::uint32_t now) {
  cache.for_each([&](std::uint64_t key, const Entry& seen) {
    if (seen.expires > now) return;
    cache.modify(key, [&](std::optional<Entry> there) { return there && there->expires > now ? there : std::nullopt; });
  });
}

int main() {
  Cache cache;
  std::vector<std::thread> threads;
  std::vector<int> wrong(2, 0);
  for (int& mine : wrong) {
    threads.emplace_back([&cache, &mine] {
      for (std::uint32_t now = 0; now < 300; ++now) {
        for (std::uint64_t key = now; key < now + 100; ++key) mine += answer_of(cache, key, now) != compute(key);
        if (now % 30 == 0) sweep(cache, now);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  sweep(cache, 300);
  std::printf("%llu entries are fresh\n", static_cast<unsigned long long>(cache.size()));
  cache.for_each([&](std::uint64_t, const Entry& entry) { wrong[0] += entry.expires <= 300; });
  return wrong[0] == 0 && wrong[1] == 0 && cache.size() > 0 ? 0 : 1;
}
