#pragma once

// What a client of memcached's protocol says, and what it is answered.

#include <string>
#include <vector>

#include "services/kv/server_testing.h"
#include "src/base/types.h"
#include "src/testing/catch.h"

namespace latchlab::kv::testing {

inline constexpr i64 kSecond = 1000;  // ms

/// A request and the answer to it, both without the last line end.
struct Exchange {
  std::string request, answer;
};

/// Has the client say each request, and checks each answer.
inline void check(Conversation& client, const std::vector<Exchange>& exchanges) {
  for (const auto& [request, answer] : exchanges) {
    INFO(request);
    CHECK(client.say(request + "\r\n") == (answer.empty() ? "" : answer + "\r\n"));
  }
}
/// Does so for the first client of a server.
inline void check(const std::vector<Exchange>& exchanges) {
  Played served;
  Conversation client(served);
  check(client, exchanges);
}

}  // namespace latchlab::kv::testing
