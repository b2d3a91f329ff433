#pragma once

// The remote index (indexes/remote) beside our own server, for the tests of each transport.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "indexes/erased.h"
#include "indexes/erased_testing.h"
#include "indexes/remote/remote.h"
#include "services/kv/served_testing.h"
#include "src/base/key.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/oracle.h"

namespace latchlab::kv::testing {

using latchlab::testing::number_key;
using latchlab::testing::Oracle;
using latchlab::testing::StringSession;

using RemoteNumbers = ErasedOf<Remote<U64Key>>;

inline constexpr std::string_view kDialects[] = {"memcached", "meta", "resp"};

inline Spec spec_of(const std::string& addresses, std::string_view dialect, std::string_view more = "") {
  return Spec::parse("remote:addr=" + addresses + ",protocol=" + std::string(dialect) + std::string(more));
}

inline std::unique_ptr<RemoteNumbers> remote(const Spec& spec) {
  return std::make_unique<RemoteNumbers>(Spec::parse("own"), MemoryConfig{}, spec);
}

/// Runs random operations and batches on an index and a map, and compares every answer. `modifies` is false where the
/// protocol cannot.
inline void compare_with_map(Erased& index, bool modifies) {
  Rng rng(test_seed());
  StringSession session(index);
  Oracle<StringSession> oracle(session, false);
  std::vector<std::string> keys;
  for (u32 i = 0; i < 200; ++i) keys.push_back(number_key(rng.below(2) == 0 ? i : rng()));
  for (u32 i = 0; i < 2000 && oracle.ok(); ++i) {
    const std::string& key = keys[rng.below(keys.size())];
    if (modifies) {
      oracle.random_operation(rng, key, 30, 20);
    } else {
      switch (rng.below(5)) {
        case 0: oracle.insert(key, rng()); break;
        case 1: oracle.update(key, rng()); break;
        case 2: oracle.upsert(key, rng()); break;
        case 3: oracle.erase(key); break;
        default: oracle.find(key);
      }
    }
    if (i % 50 != 0) continue;
    const std::size_t count = 1 + rng.below(300);
    std::vector<std::string> batch;
    std::vector<u64> values;
    for (std::size_t j = 0; j < count; ++j) {
      batch.push_back(keys[rng.below(keys.size())]);
      values.push_back(rng());
    }
    oracle.find_batch(batch, BatchOrder::kSideBySide);
    oracle.update_batch(batch, values, BatchOrder::kInTurn);
    oracle.erase_batch({batch.begin(), batch.begin() + static_cast<long>(count / 2)}, BatchOrder::kInTurn);
    oracle.find_batch(batch, BatchOrder::kInTurn);
    oracle.insert_batch(batch, values, BatchOrder::kInTurn);
  }
  oracle.compare_all();
  CHECK(oracle.complaint() == "");
}

/// Checks by each protocol that a server at an address of the scheme (unix, shm, ucx) is an index.
inline void check_each_dialect_over(std::string_view scheme) {
  for (const std::string_view dialect : kDialects) {
    INFO(scheme << ", " << dialect);
    const ServeCommand command = Served::at_path(Events::kEpoll, {}, scheme);
    const Served served(command);
    const auto index = remote(spec_of(command.addresses[0].text, dialect));
    compare_with_map(*index, dialect != "resp");
  }
}

}  // namespace latchlab::kv::testing
