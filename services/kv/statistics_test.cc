#include "services/kv/statistics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "services/kv/server_testing.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using testing::after;
using testing::Conversation;
using testing::kHashSeed;
using testing::Played;
using testing::StoreOver;
using testing::Way;

using Texts = std::map<std::string, std::string>;

std::vector<std::string> lines_of(std::string_view text, std::string_view end) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t at = text.find(end);
    REQUIRE(at != text.npos);  // the last line ends, too
    lines.emplace_back(text.substr(0, at));
    text.remove_prefix(at + end.size());
  }
  return lines;
}

/// Returns the names and values of an answer to `stats`.
Texts stats_in(std::string_view answer) {
  std::vector<std::string> lines = lines_of(answer, "\r\n");
  REQUIRE(lines.back() == "END");
  lines.pop_back();
  Texts stats;
  for (const std::string& line : lines) {
    REQUIRE(line.starts_with("STAT "));
    const std::size_t blank = line.find(' ', 5);
    REQUIRE(blank != line.npos);
    REQUIRE(stats.emplace(line.substr(5, blank - 5), line.substr(blank + 1)).second);  // each name once
  }
  return stats;
}
Texts stats_of(Played& served, std::string_view words = {}) {
  std::string out;
  append_memcached_stats(out, served.desk(), words);
  return stats_in(out);
}

/// Returns the names and values of INFO.
Texts info_of(Played& served) {
  Texts info;
  for (const std::string& line : lines_of(redis_info(served.desk()), "\r\n")) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(':');
    REQUIRE(colon != line.npos);
    REQUIRE(info.emplace(line.substr(0, colon), line.substr(colon + 1)).second);
  }
  return info;
}

/// Returns the names and values of the metrics, without latchlab_, and checks their form.
Texts metrics_of(Played& served) {
  Texts metrics;
  std::string typed, kind;
  for (const std::string& line : lines_of(prometheus_text(served.server(), served.now()), "\n")) {
    INFO(line);
    if (line.starts_with("# TYPE ")) {
      const std::size_t blank = line.find(' ', 7);
      typed = line.substr(7, blank - 7);
      kind = line.substr(blank + 1);
      continue;
    }
    const std::size_t blank = line.find(' ');
    REQUIRE(line.substr(0, blank) == typed);
    REQUIRE(typed.starts_with("latchlab_"));
    REQUIRE(std::ranges::all_of(typed,
                                [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }));
    REQUIRE(kind == (typed.ends_with("_total") ? "counter" : "gauge"));
    REQUIRE(metrics.emplace(typed.substr(9), line.substr(blank + 1)).second);
  }
  return metrics;
}

u64 number(const Texts& texts, const std::string& name) {
  INFO(name);
  const auto at = texts.find(name);
  REQUIRE(at != texts.end());
  u64 value = 0;
  const char* const end = at->second.data() + at->second.size();
  REQUIRE(std::from_chars(at->second.data(), end, value).ptr == end);
  return value;
}

/// Checks that all three texts tell the same.
void check_agreement(Played& served) {
  const Texts stats = stats_of(served), info = info_of(served), metrics = metrics_of(served);
  for (const CounterField<KvCounters>& field : KvCounters::fields())
    CHECK(number(metrics, std::string(field.name) + "_total") == number(stats, std::string(field.name)));
  CHECK(number(info, "keyspace_hits") == number(stats, "get_hits"));
  CHECK(number(info, "keyspace_misses") == number(stats, "get_misses"));
  CHECK(number(info, "evicted_keys") == number(stats, "evictions"));
  CHECK(number(info, "expired_keys") == number(stats, "reclaimed"));
  CHECK(number(metrics, "evictions_total") == number(stats, "evictions"));
  CHECK(number(metrics, "expired_total") == number(stats, "reclaimed"));
  CHECK(number(metrics, "items") == number(stats, "curr_items"));
  CHECK(number(metrics, "bytes") == number(stats, "bytes"));
  CHECK(number(metrics, "total_items_total") == number(stats, "total_items"));
  CHECK(number(metrics, "uptime_seconds") == number(stats, "uptime"));
  const std::string keys = "keys=" + std::to_string(number(stats, "curr_items"));
  CHECK((info.contains("db0") ? info.at("db0") : "keys=0") == keys);
}

/// Checks the sums that hold whenever no command is under way.
void check_sums(const Texts& stats) {
  CHECK(number(stats, "cmd_get") == number(stats, "get_hits") + number(stats, "get_misses"));
  CHECK(number(stats, "cmd_touch") == number(stats, "touch_hits") + number(stats, "touch_misses"));
}

u64 bytes_of(std::string_view key, std::string_view value) { return kItemHead + key.size() + value.size(); }

}  // namespace

TEST_CASE("Commands of memcached count once each, under the names that its clients know") {
  Played served;
  Conversation client(served);
  for (const std::string command : {"set a 0 0 1\r\n1",
                                    "add a 0 0 1\r\n1",
                                    "append b 0 0 1\r\n1",
                                    "ms c 1\r\nx",
                                    "get a",
                                    "get a b c d",
                                    "gets d",
                                    "gat 0 a d",
                                    "touch a 0",
                                    "touch d 0",
                                    "mg a v",
                                    "mg d v",
                                    "mg a T0",
                                    "mg d T0",
                                    "incr a 5",
                                    "incr d 5",
                                    "decr a 5",
                                    "decr d 5",
                                    "ma a",
                                    "ma z N0 J1",
                                    "set w 0 0 1\r\nw",
                                    "incr w 1",
                                    "delete a",
                                    "delete a",
                                    "md c C1000000",
                                    "md c I",
                                    "md c",
                                    "md c",
                                    "cas e 0 0 1 1\r\nx",
                                    "set e 0 0 1\r\nx",
                                    "cas e 0 0 1 1\r\nx",
                                    "flush_all",
                                    "mn"})
    REQUIRE_FALSE(client.say(command + "\r\n").starts_with("ERROR"));
  const std::string unique = client.say("set f 0 0 1\r\nx\r\ngets f\r\n");
  const std::size_t at = unique.find(" 1 ") + 3;
  REQUIRE(client.say("cas f 0 0 1 " + unique.substr(at, unique.find('\r', at) - at) + "\r\ny\r\n") == "STORED\r\n");
  const Texts stats = stats_of(served);
  const Texts wanted{{"cmd_get", "10"},        {"get_hits", "5"},      {"get_misses", "5"},   {"cmd_set", "10"},
                     {"cmd_touch", "5"},       {"touch_hits", "3"},    {"touch_misses", "2"}, {"cmd_meta", "11"},
                     {"incr_hits", "2"},       {"incr_misses", "1"},   {"decr_hits", "1"},    {"decr_misses", "1"},
                     {"delete_hits", "2"},     {"delete_misses", "3"}, {"cas_hits", "1"},     {"cas_misses", "1"},
                     {"cas_badval", "1"},      {"cmd_flush", "1"},     {"curr_items", "1"},   {"evictions", "0"},
                     {"hash_collisions", "0"}, {"out_of_memory", "0"}};
  for (const auto& [name, value] : wanted) {
    INFO(name);
    CHECK(stats.at(name) == value);
  }
  check_sums(stats);
  check_agreement(served);
}

TEST_CASE("Commands of redis count under the same names") {
  Played served;
  Conversation client(served);
  for (const std::string command :
       {"SET a 1", "SETNX a 2", "MSET b 1 c 2", "GET a", "GET d", "MGET a b d", "EXISTS a d", "STRLEN a", "INCR a",
        "INCR n", "DEL a d", "GETDEL b", "GETSET c 1", "FLUSHALL"})
    REQUIRE_FALSE(client.say(command + "\r\n").starts_with("-"));
  const Texts stats = stats_of(served);
  const Texts wanted{{"cmd_get", "10"},      {"get_hits", "7"},    {"get_misses", "3"}, {"cmd_set", "5"},
                     {"incr_hits", "1"},     {"incr_misses", "1"}, {"cmd_flush", "1"},  {"delete_hits", "1"},
                     {"delete_misses", "1"}, {"curr_items", "0"}};
  for (const auto& [name, value] : wanted) {
    INFO(name);
    CHECK(stats.at(name) == value);
  }
  check_sums(stats);
  check_agreement(served);
}

TEST_CASE("Items and bytes follow what is stored, replaced, deleted, expired and flushed") {
  Played served;
  Conversation client(served);
  const auto check = [&](u64 items, u64 bytes, u64 total) {
    const Texts stats = stats_of(served);
    CHECK(number(stats, "curr_items") == items);
    CHECK(number(stats, "bytes") == bytes);
    CHECK(number(stats, "total_items") == total);
    check_agreement(served);
  };
  check(0, 0, 0);
  (void)client.say("set a 0 0 10\r\n0123456789\r\nset bb 0 5 3\r\nabc\r\nset c 0 5 0\r\n\r\n");
  const u64 of_b = bytes_of("bb", "abc"), of_c = bytes_of("c", "");
  check(3, bytes_of("a", "0123456789") + of_b + of_c, 3);
  (void)client.say("set a 0 0 1\r\n1\r\nappend a 0 0 2\r\n23\r\n");
  check(3, bytes_of("a", "123") + of_b + of_c, 5);
  (void)client.say("add a 0 0 1\r\n1\r\nreplace d 0 0 1\r\n1\r\ndelete d\r\n");  // all refused
  check(3, bytes_of("a", "123") + of_b + of_c, 5);
  (void)client.say("touch a 0\r\ngat 0 a\r\nincr a 1\r\nmg a T0\r\nmd a I\r\n");  // none is new
  check(3, bytes_of("a", "124") + of_b + of_c, 5);
  (void)client.say("incr a 900\r\nmv a 4 xor u32\r\nabcd\r\n");
  check(3, bytes_of("a", "1024") + of_b + of_c, 6);
  (void)client.say("delete a\r\n");
  check(2, of_b + of_c, 6);
  // An item whose time is over counts until a command or the sweep comes by it.
  served.pass(5000);
  check(2, of_b + of_c, 6);
  CHECK(client.say("get bb\r\n") == "END\r\n");
  check(1, of_c, 6);
  CHECK(served.session().sweep(100, served.now()).removed == 1);
  check(0, 0, 6);
  CHECK(number(stats_of(served), "reclaimed") == 2);
  CHECK(number(stats_of(served), "expired_unfetched") == 2);
  // A flush forgets all at once.
  (void)client.say("set a 0 0 1\r\n1\r\nset b 0 0 1\r\n1\r\nflush_all\r\n");
  check(0, 0, 8);
  CHECK(client.say("set a 0 0 1\r\n1\r\nget a b\r\n") == "STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n");
  check(1, bytes_of("a", "1"), 9);
}

TEST_CASE("Items that are evicted leave the counts of items, and are counted as fetched or not") {
  ServerOptions options;
  options.store.limit = 16 << 20;
  Played served(options);
  Conversation client(served);
  const std::string value(4000, 'v');
  constexpr u64 kItems = 10'000;
  for (u64 i = 0; i < kItems; ++i) {
    const std::string key = "key" + std::to_string(i);
    REQUIRE(client.say("set " + key + " 0 0 4000\r\n" + value + "\r\n") == "STORED\r\n");
    if (i % 2 == 0) REQUIRE(client.say("get " + key + "\r\n") != "END\r\n");
  }
  const Texts stats = stats_of(served);
  const u64 evicted = number(stats, "evictions"), unfetched = number(stats, "evicted_unfetched");
  CHECK(evicted > kItems / 2);
  CHECK(number(stats, "curr_items") + evicted == kItems);
  CHECK(number(stats, "total_items") == kItems);
  CHECK(unfetched > 0);
  CHECK(unfetched < evicted);
  CHECK(unfetched <= kItems / 2);
  CHECK(number(stats, "limit_maxbytes") == 16 << 20);
  CHECK(number(stats, "bytes") <= number(stats, "reserved_bytes"));
  CHECK(number(stats, "reserved_bytes") <= 16 << 20);
  u64 items = 0, bytes = 0;
  const auto walk = served.session().begin_walk();
  while (served.session().walk_on(*walk, 64, served.now(), [&](const Item& item) { ++items, bytes += item.size(); })) {}
  CHECK(number(stats, "curr_items") == items);
  CHECK(number(stats, "bytes") == bytes);
  check_agreement(served);
}

TEST_CASE("stats knows the time") {
  Played served;
  served.pass(2500);
  const Texts stats = stats_of(served);
  CHECK(stats.at("uptime") == "2");
  CHECK(number(stats, "time") == testing::kStartSeconds + 2);
  CHECK(info_of(served).at("uptime_in_seconds") == "2");
}

TEST_CASE("stats settings tells the options") {
  ServerOptions options;
  options.store.limit = 64 << 20;
  options.limits.most_connections = 77;
  options.limits.most_value_bytes = 12345;
  options.threads = 3;
  Played served(options);
  CHECK(stats_of(served, "settings") == Texts{{"maxbytes", "67108864"},
                                              {"maxconns", "77"},
                                              {"item_size_max", "12345"},
                                              {"num_threads", "3"},
                                              {"cas_enabled", "yes"},
                                              {"flush_enabled", "yes"},
                                              {"evictions", "on"},
                                              {"index", "cuckoo"},
                                              {"sync", "olc"}});
  const Texts stats = stats_of(served), info = info_of(served), metrics = metrics_of(served);
  CHECK(number(stats, "max_connections") == 77);
  CHECK(number(stats, "threads") == 3);
  CHECK(number(stats, "limit_maxbytes") == 64 << 20);
  CHECK(number(info, "maxclients") == 77);
  CHECK(number(info, "maxmemory") == 64 << 20);
  CHECK(number(metrics, "limit_bytes") == 64 << 20);
}

TEST_CASE("stats reset sets what stats counts to 0, but neither what there is now nor the counts of other readers") {
  Played served;
  Conversation client(served);
  (void)client.say("set a 0 0 1\r\n1\r\nset b 0 0 1\r\n1\r\ndelete b\r\nget a b\r\n");
  const Texts before = stats_of(served);
  REQUIRE(before.at("cmd_get") == "2");
  REQUIRE(before.at("total_items") == "2");
  REQUIRE(before.at("cmd_set") == "2");
  const KvCounters counted = served.counters();
  const std::string info = redis_info(served.desk());

  CHECK(client.say("stats reset\r\n") == "RESET\r\n");
  const Texts after = stats_of(served);
  for (const std::string name : {"cmd_get", "get_hits", "get_misses", "cmd_set", "delete_hits", "total_items",
                                 "total_connections", "evictions"}) {
    INFO(name);
    CHECK(after.at(name) == "0");
  }
  for (const std::string name : {"curr_items", "bytes", "curr_connections", "limit_maxbytes"}) {
    INFO(name);
    CHECK(after.at(name) == before.at(name));
  }
  CHECK(served.counters().cmd_get == counted.cmd_get);
  CHECK(served.counters().total_connections == counted.total_connections);
  CHECK(redis_info(served.desk()) == info);

  (void)client.say("get a\r\n");
  CHECK(stats_of(served).at("cmd_get") == "1");
  CHECK(client.say("stats reset\r\n") == "RESET\r\n");
  CHECK(stats_of(served).at("get_hits") == "0");
}

TEST_CASE("stats of what the server does not have is empty, and of what nobody knows an error") {
  Played served;
  Conversation client(served);
  for (const std::string words : {"items", "slabs", "sizes", "conns"})
    CHECK(client.say("stats " + words + "\r\n") == "END\r\n");
  CHECK(client.say("stats nosuch\r\n") == "ERROR\r\n");
}

TEST_CASE("A client sees the statistics as the functions tell them") {
  Played served;
  Conversation memcached(served), redis(served);
  (void)memcached.say("set a 0 0 1\r\n1\r\nget a b\r\n");
  CHECK(number(stats_in(memcached.say("stats\r\n")), "get_hits") == 1);
  const std::string info = redis.say("INFO\r\n");
  const std::string text = redis_info(served.desk());
  CHECK(info == "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n");
  CHECK(text.find("# Keyspace\r\ndb0:keys=1\r\n") != text.npos);
}

namespace {

/// The answers that one session has got.
struct Heard {
  u64 hits = 0, misses = 0, stored = 0, deleted = 0, not_deleted = 0, counted = 0, not_counted = 0, touched = 0,
      not_touched = 0;
};

u64 count_of(std::string_view text, std::string_view part) {
  u64 count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

/// A session of a thread of its own, with one connection.
class Busy {
 public:
  explicit Busy(Server& server)
      : session_(server.store().join()),
        turn_(server, *session_, server.add_counts()),
        dialogue_(server.next_id(), server.options().limits, true) {}

  std::string say(std::string_view bytes) {
    dialogue_.receive(bytes);
    Dialogue* const all[] = {&dialogue_};
    turn_.answer(all, after(0));
    return way_.send(dialogue_.unsent());
  }

  /// Says a random command about some of 2000 keys, and notes the answer.
  void go(Rng& rng, Heard& heard) {
    const std::string key = " k" + std::to_string(rng.below(2000));
    switch (rng.below(8)) {
      case 0:
      case 1: {
        const std::string value =
            rng.below(2) == 0 ? std::string(rng.below(2000), 'v') : std::to_string(rng.below(1000));
        heard.stored +=
            count_of(say("set" + key + " 0 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n"), "STORED");
        break;
      }
      case 2: {
        const std::string answer = say("delete" + key + "\r\n");
        heard.deleted += answer == "DELETED\r\n";
        heard.not_deleted += answer == "NOT_FOUND\r\n";
        break;
      }
      case 3: {
        const std::string answer = say("incr" + key + " 1\r\n");
        heard.counted += answer.front() >= '0' && answer.front() <= '9';
        heard.not_counted += answer == "NOT_FOUND\r\n";
        break;
      }
      case 4: {
        const std::string answer = say("touch" + key + " 0\r\n");
        heard.touched += answer == "TOUCHED\r\n";
        heard.not_touched += answer == "NOT_FOUND\r\n";
        break;
      }
      default: {
        const u64 keys = 1 + rng.below(10);
        std::string command = "get";
        for (u64 i = 0; i < keys; ++i) command += " k" + std::to_string(rng.below(2000));
        const u64 values = count_of(say(command + "\r\n"), "VALUE ");
        heard.hits += values;
        heard.misses += keys - values;
      }
    }
  }

 private:
  const std::unique_ptr<Store::Session> session_;
  Turn turn_;
  Dialogue dialogue_;
  Way way_{dialogue_};
};

}  // namespace

TEST_CASE("Counts of several sessions in threads add up, and never go down meanwhile") {
  constexpr u32 kThreads = 3;
  constexpr u64 kEach = 15'000;
  for (const u64 limit : {u64{0}, u64{16} << 20}) {
    CAPTURE(limit);
    ServerOptions options;
    options.store.limit = limit;
    // With the longer values of a limited store, some of its items are evicted.
    Server server(options, std::make_unique<StoreOver<Cuckoo>>(options.store, kHashSeed), after(0));
    std::vector<Heard> heard(kThreads);
    std::atomic<u32> running{kThreads};
    std::vector<std::thread> threads;
    for (u32 id = 0; id < kThreads; ++id) {
      threads.emplace_back([&, id] {
        Busy busy(server);
        Rng rng(test_seed() + id);
        const std::string large(100'000, 'l');
        for (u64 i = 0; i < kEach; ++i) {
          busy.go(rng, heard[id]);
          if (limit == 0 || i % 50 != 0) continue;
          const std::string text = "large" + std::to_string(rng.below(1000));
          heard[id].stored += busy.say("set " + text + " 0 0 100000\r\n" + large + "\r\n") == "STORED\r\n";
        }
        --running;
      });
    }
    const auto session = server.store().join();
    KvCounts& counts = server.add_counts();
    const Desk desk{server, *session, counts, after(0)};
    Texts before;
    const std::array growing{"cmd_get",   "get_hits",  "get_misses", "cmd_set",     "delete_hits",
                             "incr_hits", "evictions", "batches",    "total_items", "touch_hits"};
    while (running != 0) {
      std::string out;
      append_memcached_stats(out, desk, {});
      Texts now = stats_in(out);
      for (const std::string name : growing) {
        if (before.empty()) break;
        REQUIRE(number(now, name) >= number(before, name));
      }
      before = std::move(now);
    }
    for (std::thread& thread : threads) thread.join();
    Heard sum;
    for (const Heard& one : heard) {
      for (const auto member : {&Heard::hits, &Heard::misses, &Heard::stored, &Heard::deleted, &Heard::not_deleted,
                                &Heard::counted, &Heard::not_counted, &Heard::touched, &Heard::not_touched})
        sum.*member += one.*member;
    }
    std::string out;
    append_memcached_stats(out, desk, {});
    const Texts stats = stats_in(out);
    check_sums(stats);
    CHECK(number(stats, "get_hits") == sum.hits);
    CHECK(number(stats, "get_misses") == sum.misses);
    CHECK(number(stats, "delete_hits") == sum.deleted);
    CHECK(number(stats, "delete_misses") == sum.not_deleted);
    CHECK(number(stats, "incr_hits") == sum.counted);
    CHECK(number(stats, "incr_misses") == sum.not_counted);
    CHECK(number(stats, "touch_hits") == sum.touched);
    CHECK(number(stats, "touch_misses") == sum.not_touched);
    CHECK(number(stats, "cmd_set") >= sum.stored);
    CHECK((number(stats, "evictions") != 0) == (limit != 0));
    CHECK(number(stats, "curr_items") + number(stats, "evictions") + sum.deleted <= number(stats, "total_items"));
    u64 items = 0, bytes = 0;
    const auto walk = session->begin_walk();
    while (session->walk_on(*walk, 64, after(0), [&](const Item& item) { ++items, bytes += item.size(); })) {}
    CHECK(number(stats, "curr_items") == items);
    CHECK(number(stats, "bytes") == bytes);
    CHECK(prometheus_text(server, after(0)).find("\nlatchlab_get_hits_total " + std::to_string(sum.hits) + "\n") !=
          std::string::npos);
  }
}

}  // namespace latchlab::kv
