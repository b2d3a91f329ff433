#pragma once

// What all loops of a server share: the store, the limits, the secrets, and the counts of each loop.

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/counters.h"
#include "services/kv/secrets.h"
#include "services/kv/store.h"
#include "src/base/batching.h"
#include "src/base/types.h"

namespace latchlab::kv {

/// The version that the server tells memcached's clients, and the redis release whose answers it follows.
inline constexpr std::string_view kVersion = "1.6.18-latchlab-0.2.0";
inline constexpr std::string_view kRedisVersion = "7.0.15";

/// How many requests a turn collects before their keys are looked up together.
struct Gather {
  static constexpr std::size_t kTurn = 4096;  ///< all of a turn, up to so many keys
  std::size_t keys = kTurn;                   ///< 1: each key is looked up by itself, and the batch does not matter
};

struct Limits {
  std::size_t most_value_bytes = std::size_t{1} << 20;
  std::size_t most_output_bytes = std::size_t{1} << 20;  ///< unsent; beyond it, a connection is not read any more
  std::size_t read_bytes = std::size_t{64} << 10;        ///< that a turn reads from one connection
  u32 most_connections = 1024;                           ///< of the whole server
  u32 idle_seconds = 3600;  ///< a connection is closed that was silent for so long; 0: none is
  u32 stall_seconds = 30;   ///< and one of whose answers no byte was taken for so long
  u32 drain_seconds = 5;    ///< after a stop, until connections with answers that are not taken are closed
};

struct ServerOptions {
  StoreOptions store;
  Limits limits;
  Gather gather;
  std::optional<Batching> batch;  ///< of lookups; nothing: the faster of 64 keys side by side and one by one
  u32 threads = 1;
  std::optional<Secrets> secrets;  ///< nothing: every client is admitted
};

/// What `stats` tells about the counts.
struct ToldCounts {
  KvCounters loops;
  StoreCounters store;
  u64 connections = 0;  ///< open now
};

class Server {
 public:
  /// Takes the store, which has the options that `options` say.
  Server(const ServerOptions& options, std::unique_ptr<Store> store, Moment started);

  const ServerOptions& options() const { return options_; }
  Store& store() const { return *store_; }

  /// Returns the counts of a new loop. Takes a mutex.
  KvCounts& add_counts();
  /// Returns the sums of all loops.
  [[nodiscard]] KvCounters counters() const;

  /// Returns the counts since the last reset_told(), or since the start. The items, their bytes and the open
  /// connections are those of now. Takes a mutex.
  [[nodiscard]] ToldCounts told() const;
  /// Lets told() begin at 0 again. The counts themselves go on: other readers, such as Prometheus, rely on it. Takes a
  /// mutex. It is const since no command sees a server that is not.
  void reset_told() const;

  /// Returns the seconds since the start.
  [[nodiscard]] u64 uptime(Moment now) const { return now.second - started_.second; }

  /// Counts a connection, unless there are as many as may be. Any thread may call it, and the next.
  [[nodiscard]] bool admit_connection() {
    // Relaxed: the number guards nothing else.
    if (connections_.fetch_add(1, kRelaxed) < options_.limits.most_connections) return true;
    connections_.fetch_sub(1, kRelaxed);
    return false;
  }
  void end_connection() { connections_.fetch_sub(1, kRelaxed); }
  /// Returns a number for a new connection.
  [[nodiscard]] u64 next_id() { return next_id_.fetch_add(1, kRelaxed); }

 private:
  const ServerOptions options_;
  const std::unique_ptr<Store> store_;
  const Moment started_;
  std::atomic<u32> connections_{0};
  std::atomic<u64> next_id_{1};
  KvCounters sum() const;  // under mutex_

  mutable std::mutex mutex_;  // guards counts_ and those at the last reset
  std::vector<std::unique_ptr<KvCounts>> counts_;
  mutable KvCounters loops_at_reset_;
  mutable StoreCounters store_at_reset_;
};

/// What a loop's thread needs to answer a command.
struct Desk {
  const Server& server;
  Store::Session& session;
  KvCounts& counts;
  Moment now;
};

}  // namespace latchlab::kv
