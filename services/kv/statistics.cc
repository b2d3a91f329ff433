#include "services/kv/statistics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "src/base/words.h"
#include "src/wire/memcached_answers.h"
#include "src/wire/numbers.h"

namespace latchlab::kv {

namespace {

/// Statistics of memcached about parts that this server does not have.
constexpr std::array kEmptyStats{"items"sv, "slabs"sv, "sizes"sv, "conns"sv};

std::string seconds_of(const timeval& time) { return fmt::format("{}.{:06}", time.tv_sec, time.tv_usec); }

/// Calls show(name, value) for each line of `stats`.
template <class Show>
void for_each_stat(const Desk& desk, const Show& show) {
  const Server& server = desk.server;
  const ToldCounts told = server.told();
  const StoreCounters& store = told.store;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  show("pid", std::to_string(getpid()));
  show("uptime", std::to_string(server.uptime(desk.now)));
  show("time", std::to_string(desk.now.ms / 1000));
  show("version", std::string(kVersion));
  show("libevent", "none");
  show("pointer_size", "64");
  show("rusage_user", seconds_of(usage.ru_utime));
  show("rusage_system", seconds_of(usage.ru_stime));
  show("max_connections", std::to_string(server.options().limits.most_connections));
  show("curr_connections", std::to_string(told.connections));
  for_each_counter(told.loops, [&](std::string_view name, u64 value) { show(name, std::to_string(value)); });
  show("limit_maxbytes", std::to_string(server.options().store.limit));
  show("threads", std::to_string(server.options().threads));
  show("curr_items", std::to_string(store.items));
  show("bytes", std::to_string(store.bytes));
  show("total_items", std::to_string(store.total_items));
  show("evictions", std::to_string(store.evictions));
  show("evicted_unfetched", std::to_string(store.evicted_unfetched));
  show("reclaimed", std::to_string(store.expired));
  show("expired_unfetched", std::to_string(store.expired_unfetched));
  show("hash_collisions", std::to_string(store.collisions));
  show("out_of_memory", std::to_string(store.out_of_memory));
  show("reserved_bytes", std::to_string(server.store().reserved()));
}

}  // namespace

void append_memcached_stats(std::string& out, const Desk& desk, std::string_view words) {
  if (words == "settings") {
    const ServerOptions& options = desk.server.options();
    append_stat(out, "maxbytes", options.store.limit);
    append_stat(out, "maxconns", options.limits.most_connections);
    append_stat(out, "item_size_max", options.limits.most_value_bytes);
    append_stat(out, "num_threads", options.threads);
    append_stat(out, "cas_enabled", "yes");
    append_stat(out, "flush_enabled", "yes");
    append_stat(out, "evictions", options.store.limit == 0 ? "off" : "on");
    append_stat(out, "index", options.store.index.str());
    append_stat(out, "sync", options.store.sync.str());
  } else if (words == "reset") {
    desk.server.reset_told();
    return append_status(out, MemcachedStatus::kReset);
  } else if (words.empty()) {
    for_each_stat(desk, [&](std::string_view name, const std::string& value) { append_stat(out, name, value); });
  } else if (std::ranges::find(kEmptyStats, words) == kEmptyStats.end()) {
    out.append("ERROR").append(kLineEnd);
    return;
  }
  append_status(out, MemcachedStatus::kEnd);
}

std::string redis_info(const Desk& desk) {
  const KvCounters counters = desk.server.counters();
  const StoreCounters store = desk.server.store().counters();
  std::string text;
  const auto to = std::back_inserter(text);
  fmt::format_to(to,
                 "# Server\r\nredis_version:{}\r\nlatchlab_version:{}\r\nredis_mode:standalone\r\nprocess_id:{}\r\n",
                 kRedisVersion, kVersion, getpid());
  fmt::format_to(to, "uptime_in_seconds:{}\r\n\r\n# Clients\r\nconnected_clients:{}\r\nmaxclients:{}\r\n\r\n",
                 desk.server.uptime(desk.now), counters.open_connections(),
                 desk.server.options().limits.most_connections);
  fmt::format_to(to, "# Memory\r\nused_memory:{}\r\nused_memory_dataset:{}\r\nmaxmemory:{}\r\n\r\n",
                 desk.server.store().reserved(), store.bytes, desk.server.options().store.limit);
  fmt::format_to(to, "# Stats\r\ntotal_connections_received:{}\r\nkeyspace_hits:{}\r\nkeyspace_misses:{}\r\n",
                 counters.total_connections, counters.get_hits, counters.get_misses);
  fmt::format_to(to, "evicted_keys:{}\r\nexpired_keys:{}\r\n\r\n", store.evictions, store.expired);
  fmt::format_to(to, "# Replication\r\nrole:master\r\n\r\n# Keyspace\r\n");
  if (store.items != 0) fmt::format_to(to, "db0:keys={}\r\n", store.items);
  return text;
}

std::string prometheus_text(const Server& server, Moment now) {
  std::string text;
  const auto to = std::back_inserter(text);
  const auto metric = [&](std::string_view kind, std::string_view name, u64 value) {
    fmt::format_to(to, "# TYPE latchlab_{0} {1}\nlatchlab_{0} {2}\n", name, kind, value);
  };
  metric("gauge", "uptime_seconds", server.uptime(now));
  const KvCounters counters = server.counters();
  metric("gauge", "connections", counters.open_connections());
  for_each_counter(counters,
                   [&](std::string_view name, u64 value) { metric("counter", fmt::format("{}_total", name), value); });
  for_each_counter(server.store().counters(), [&](std::string_view name, u64 value) {
    const bool gauge = name == "items" || name == "bytes";
    metric(gauge ? "gauge" : "counter", gauge ? std::string(name) : fmt::format("{}_total", name), value);
  });
  metric("gauge", "limit_bytes", server.options().store.limit);
  metric("gauge", "reserved_bytes", server.store().reserved());
  return text;
}

}  // namespace latchlab::kv
