#pragma once

// What a loop of the server counts. The loop's thread writes; statistics read from any thread.

#include <array>

#include "src/base/types.h"
#include "src/stats/counters.h"
#include "src/stats/shared_counts.h"

namespace latchlab::kv {

/// The counts of one loop. The names are those of memcached's `stats` where memcached has the same count.
struct KvCounters {
  u64 total_connections = 0;
  u64 closed_connections = 0;
  u64 rejected_connections = 0;  ///< beyond the limit
  u64 idle_kicks = 0;            ///< connections closed since the client was silent, or did not read
  u64 bytes_read = 0;
  u64 bytes_written = 0;
  u64 cmd_get = 0;  ///< keys looked up, by any command
  u64 get_hits = 0;
  u64 get_misses = 0;
  u64 cmd_set = 0;  ///< commands that store
  u64 cmd_touch = 0;
  u64 cmd_flush = 0;
  u64 cmd_meta = 0;
  u64 delete_hits = 0;
  u64 delete_misses = 0;
  u64 incr_hits = 0;
  u64 incr_misses = 0;
  u64 decr_hits = 0;
  u64 decr_misses = 0;
  u64 cas_hits = 0;
  u64 cas_misses = 0;
  u64 cas_badval = 0;
  u64 touch_hits = 0;
  u64 touch_misses = 0;
  u64 auth_cmds = 0;
  u64 auth_errors = 0;
  u64 turns = 0;         ///< of a loop, that had something to answer
  u64 batches = 0;       ///< lookups of several keys together
  u64 batched_keys = 0;  ///< keys in them

  static constexpr auto fields() {
    using C = KvCounters;
    return std::array{CounterField{"total_connections", &C::total_connections},
                      CounterField{"closed_connections", &C::closed_connections},
                      CounterField{"rejected_connections", &C::rejected_connections},
                      CounterField{"idle_kicks", &C::idle_kicks},
                      CounterField{"bytes_read", &C::bytes_read},
                      CounterField{"bytes_written", &C::bytes_written},
                      CounterField{"cmd_get", &C::cmd_get},
                      CounterField{"get_hits", &C::get_hits},
                      CounterField{"get_misses", &C::get_misses},
                      CounterField{"cmd_set", &C::cmd_set},
                      CounterField{"cmd_touch", &C::cmd_touch},
                      CounterField{"cmd_flush", &C::cmd_flush},
                      CounterField{"cmd_meta", &C::cmd_meta},
                      CounterField{"delete_hits", &C::delete_hits},
                      CounterField{"delete_misses", &C::delete_misses},
                      CounterField{"incr_hits", &C::incr_hits},
                      CounterField{"incr_misses", &C::incr_misses},
                      CounterField{"decr_hits", &C::decr_hits},
                      CounterField{"decr_misses", &C::decr_misses},
                      CounterField{"cas_hits", &C::cas_hits},
                      CounterField{"cas_misses", &C::cas_misses},
                      CounterField{"cas_badval", &C::cas_badval},
                      CounterField{"touch_hits", &C::touch_hits},
                      CounterField{"touch_misses", &C::touch_misses},
                      CounterField{"auth_cmds", &C::auth_cmds},
                      CounterField{"auth_errors", &C::auth_errors},
                      CounterField{"turns", &C::turns},
                      CounterField{"batches", &C::batches},
                      CounterField{"batched_keys", &C::batched_keys}};
  }
};

using KvCounts = SharedCounts<KvCounters>;

}  // namespace latchlab::kv
