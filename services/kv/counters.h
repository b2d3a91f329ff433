#pragma once

// What a loop of the server counts. The loop's thread writes; statistics read from any thread.

#include <array>
#include <cstddef>

#include "src/base/types.h"
#include "src/stats/counters.h"
#include "src/stats/shared_counts.h"

namespace latchlab::kv {

/// How many turns there are for each one that is timed.
inline constexpr u32 kTimedTurns = 8;
inline constexpr std::size_t kBatchSizes = 13;

/// The counts of one loop. The names are those of memcached's `stats` where memcached has the same count.
struct KvCounters {
  u64 total_connections = 0;
  u64 closed_connections = 0;
  u64 rejected_connections = 0;  ///< beyond the limit
  u64 idle_kicks = 0;            ///< connections closed since the client was silent, or did not read
  u64 bytes_read = 0;
  u64 bytes_written = 0;
  u64 cmd_get = 0;  ///< keys looked up, by commands that do not touch them
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
  u64 batches = 0;       ///< of keys that were looked up together, or one key
  u64 batched_keys = 0;  ///< keys in them
  // How many batches had so many keys, up to the next number. The last has those of 4096 and more.
  u64 batches_from_1 = 0;
  u64 batches_from_2 = 0;
  u64 batches_from_4 = 0;
  u64 batches_from_8 = 0;
  u64 batches_from_16 = 0;
  u64 batches_from_32 = 0;
  u64 batches_from_64 = 0;
  u64 batches_from_128 = 0;
  u64 batches_from_256 = 0;
  u64 batches_from_512 = 0;
  u64 batches_from_1024 = 0;
  u64 batches_from_2048 = 0;
  u64 batches_from_4096 = 0;
  // One turn in kTimedTurns is timed, with what the loop does for it. What is left of the thread's processor time is
  // the wait for events and what it finds.
  u64 timed_turns = 0;
  u64 timed_keys = 0;  ///< looked up in them
  u64 receive_ns = 0;  ///< reading
  u64 parse_ns = 0;    ///< parsing, hashing, and commands that are no lookups
  u64 lookup_ns = 0;   ///< from hashes to items
  u64 render_ns = 0;   ///< from items to answers
  u64 send_ns = 0;

  /// Returns the connections that are open. One thread may be seen to close what another is not seen to open yet.
  [[nodiscard]] u64 open_connections() const {
    return total_connections > closed_connections ? total_connections - closed_connections : 0;
  }

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
                      CounterField{"batched_keys", &C::batched_keys},
                      CounterField{"batches_from_1", &C::batches_from_1},
                      CounterField{"batches_from_2", &C::batches_from_2},
                      CounterField{"batches_from_4", &C::batches_from_4},
                      CounterField{"batches_from_8", &C::batches_from_8},
                      CounterField{"batches_from_16", &C::batches_from_16},
                      CounterField{"batches_from_32", &C::batches_from_32},
                      CounterField{"batches_from_64", &C::batches_from_64},
                      CounterField{"batches_from_128", &C::batches_from_128},
                      CounterField{"batches_from_256", &C::batches_from_256},
                      CounterField{"batches_from_512", &C::batches_from_512},
                      CounterField{"batches_from_1024", &C::batches_from_1024},
                      CounterField{"batches_from_2048", &C::batches_from_2048},
                      CounterField{"batches_from_4096", &C::batches_from_4096},
                      CounterField{"timed_turns", &C::timed_turns},
                      CounterField{"timed_keys", &C::timed_keys},
                      CounterField{"receive_ns", &C::receive_ns},
                      CounterField{"parse_ns", &C::parse_ns},
                      CounterField{"lookup_ns", &C::lookup_ns},
                      CounterField{"render_ns", &C::render_ns},
                      CounterField{"send_ns", &C::send_ns}};
  }
};

using KvCounts = SharedCounts<KvCounters>;

}  // namespace latchlab::kv
