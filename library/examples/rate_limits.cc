// Rate limits of many clients, and counters of what they were answered.
//
// A client may send 10 requests a second on average, and 20 at once: a bucket of tokens that fills by itself. A bucket
// has eight bytes, so it lies in the index, and modify takes a token in one step: two threads never take the same one.
#include <latchlab/map.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

struct Bucket {
  std::uint32_t thousandths;  // of tokens
  std::uint32_t ms;           // when they were counted
};

using Buckets = latchlab::Map<std::string, Bucket>;
using Counters = latchlab::Map<std::string, std::uint64_t>;
constexpr std::uint32_t kMost = 20'000, kOfRequest = 1'000, kEachMs = 10;

/// Returns true if the client may send a request at this time.
bool admit(Buckets& buckets, const std::string& client, std::uint32_t now) {
  bool admitted = false;  // the last run of the function writes it
  buckets.modify(client, [&](std::optional<Bucket> there) {
    const Bucket bucket = there.value_or(Bucket{kMost, now});
    const std::uint32_t gone = now > bucket.ms ? now - bucket.ms : 0;  // clocks of threads differ a little
    const std::uint64_t full = std::min<std::uint64_t>(kMost, bucket.thousandths + std::uint64_t{gone} * kEachMs);
    admitted = full >= kOfRequest;
    return Bucket{static_cast<std::uint32_t>(full) - (admitted ? kOfRequest : 0), bucket.ms + gone};
  });
  return admitted;
}

int main() {
  Buckets buckets;
  Counters counters;
  std::vector<std::thread> threads;
  for (int id = 0; id < 2; ++id) {
    threads.emplace_back([&] {
      for (std::uint32_t ms = 0; ms < 10'000; ms += 10) {  // 10 s of two threads: 200 requests a second of each client
        for (const char* client : {"ada", "ben"}) {
          const bool admitted = admit(buckets, client, ms);
          counters.modify(std::string(client) + (admitted ? " admitted" : " refused"),
                          [](std::optional<std::uint64_t> n) { return n.value_or(0) + 1; });
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  counters.for_each([](std::string_view name, std::uint64_t n) {
    std::printf("%.*s %llu\n", static_cast<int>(name.size()), name.data(), static_cast<unsigned long long>(n));
  });
  // 20 at once, and 10 a second from 0 to 9.99 s.
  return counters.find("ada admitted") == 119u && counters.find("ben admitted") == 119u ? 0 : 1;
}
