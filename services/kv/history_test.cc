// Histories through the network: clients of memcached's text and meta commands and of redis' use the same few keys at
// once, cas and counting among their commands, and all answers must be linearizable. LATCHLAB_HISTORY_CALLS sets how
// many calls there are; 10^7 take some minutes.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "indexes/remote/client.h"
#include "indexes/remote/connection.h"
#include "services/kv/served_testing.h"
#include "src/base/rng.h"
#include "src/history/check_history.h"
#include "src/history/history_file.h"
#include "src/testing/catch.h"
#include "src/wire/memcached_client.h"
#include "src/wire/resp_client.h"

namespace latchlab::kv {
namespace {

using remote::Dialect;
using testing::Served;

/// Values that are stored are at least this, and what is counted at a time is less. So the outcome of counting says
/// whether the key was there, and values are written once.
constexpr u64 kLeastStored = u64{1} << 40;

/// Counts: incr of memcached, which leaves an absent key alone, or INCRBY of redis, which puts the number.
class Counting {
 public:
  Counting(const Address& address, bool is_resp)
      : connection_(connect_socket(address), address.text), is_resp_(is_resp) {}

  /// Returns the new value; nothing if there is none.
  std::optional<u64> add(std::string_view key, u64 delta) {
    std::optional<u64> number;
    if (is_resp_) {
      append_resp_request(connection_.out(), std::vector<std::string_view>{"INCRBY", key, std::to_string(delta)});
      connection_.send();
      connection_.hear([&](std::string_view bytes) { return parse_resp_answer(bytes, {}, values_); });
      number = static_cast<u64>(values_[0].integer);
    } else {
      append_add(connection_.out(), MemcachedVerb::kIncr, key, delta);
      connection_.send();
      MemcachedAnswer answer;
      connection_.hear([&](std::string_view bytes) { return parse_memcached_answer(bytes, 100, answer); });
      if (answer.kind == MemcachedAnswerKind::kNumber) number = answer.number;
    }
    return number;
  }

 private:
  remote::Connection connection_;
  const bool is_resp_;
  std::vector<RespValue> values_;
};

/// One client with its calls.
class Caller {
 public:
  Caller(const Address& address, Dialect dialect, u32 number, std::atomic<u64>& clock)
      : options_(options_of(dialect)),
        client_(remote::connect(options_, address)),
        counting_(address, dialect == Dialect::kResp),
        number_(number),
        clock_(clock) {}

  void call(Rng& rng, u64 key_number) {
    std::string key;
    options_.wording.append_key(key, key_number);
    const std::string_view text = key;
    const u64 value = kLeastStored + rng.below(u64{1} << 61);
    Call call{.kind = CallKind::kFind, .yes = false, .value = value, .called = now(), .returned = 0, .caller = number_};
    const u64 ticket = rng.below(100);
    if (ticket < 25) {
      Found found;
      client_->ask_find({&text, 1});
      client_->hear_find({&text, 1}, {&found, 1});
      call.yes = found.has_value();
      call.value = found.value_or(0);
    } else if (ticket < 55) {
      call.kind = ticket < 40 ? CallKind::kInsert : CallKind::kUpdate;
      client_->ask_put(ticket < 40 ? Put::kInsert : Put::kUpdate, {&text, 1}, {&value, 1});
      client_->hear_done({&call.yes, 1});
    } else if (ticket < 65) {
      call.kind = CallKind::kErase;
      client_->ask_erase({&text, 1});
      client_->hear_done({&call.yes, 1});
    } else if (ticket < 80 || options_.dialect != Dialect::kResp) {
      if (ticket < 80 ? !count(rng, text, call) : !swap(text, call)) return;
    } else {
      call.kind = CallKind::kUpsert;
      call.yes = client_->upsert(text, value);
    }
    call.returned = now();
    calls.push_back({key_number, call});
  }

  std::vector<KeyedCall> calls;

 private:
  static remote::Options options_of(Dialect dialect) {
    remote::Options options;
    options.dialect = dialect;
    return options;
  }
  /// Full fences, which pair with each other: a call that begins after a return sees what the returned call did.
  u64 now() { return clock_.fetch_add(1, kSeqCst) + 1; }

  bool count(Rng& rng, std::string_view key, Call& call) {
    const u64 delta = 1 + rng.below(u64{1} << 30);
    const std::optional<u64> number = counting_.add(key, delta);
    call.kind = CallKind::kUpdate;
    call.yes = number.has_value();
    if (!number) return true;
    call.value = *number;
    if (*number == delta) {
      call.kind = CallKind::kUpsert;  // it was absent
    } else {
      call.was = *number - delta;
    }
    return true;
  }
  /// Stores by version what was read before. Returns false if there is no call to tell of.
  bool swap(std::string_view key, Call& call) {
    const std::optional<remote::Versioned> there = client_->find_version(key);
    if (!there) {
      call.value = 0;
      return true;  // a find that found nothing
    }
    call.called = now();
    if (!client_->change_version(key, there->version, call.value)) return false;
    call.kind = CallKind::kUpdate;
    call.yes = true;
    call.was = there->value;
    return true;
  }

  const remote::Options options_;
  const std::unique_ptr<remote::Client> client_;
  Counting counting_;
  const u32 number_;
  std::atomic<u64>& clock_;
};

/// Runs one client of each protocol at once, and checks their calls.
HistoryVerdict run(const Address& address, u64 calls) {
  constexpr Dialect kDialects[] = {Dialect::kMemcached, Dialect::kMeta, Dialect::kResp};
  constexpr u32 kClients = 6;
  constexpr u64 kCallsOfKey = 20'000;  // after so many calls the clients go on to other keys
  constexpr u64 kKeysAtOnce = 4;
  std::atomic<u64> clock{0};
  std::vector<std::unique_ptr<Caller>> callers;
  for (u32 i = 0; i < kClients; ++i) {
    callers.push_back(std::make_unique<Caller>(address, kDialects[i % std::size(kDialects)], i, clock));
  }
  std::vector<std::thread> threads;
  for (u32 i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i] {
      Rng rng(draw(test_seed(), 1, i));
      for (u64 done = 0; done < calls / kClients; ++done) {
        callers[i]->call(rng, done * kClients / kCallsOfKey * kKeysAtOnce + rng.below(kKeysAtOnce));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<KeyedCall> all;
  for (const auto& caller : callers) all.insert(all.end(), caller->calls.begin(), caller->calls.end());
  return check_history(all);
}

u64 calls_of_run() {
  const char* const asked = std::getenv("LATCHLAB_HISTORY_CALLS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 20'000;
}

/// A planted bug: the client is answered before the change, which each session makes when kLate more have come. If it
/// came with the next change, those of other clients would hide it where all threads share one processor.
class LateStore final : public Store {
 public:
  explicit LateStore(std::unique_ptr<Store> store) : Store(1), store_(std::move(store)) {}
  std::unique_ptr<Store::Session> join() override { return std::make_unique<Session>(store_->join()); }
  void flush(i64 at, Moment now) override { store_->flush(at, now); }
  StoreCounters counters() const override { return store_->counters(); }
  u64 reserved() const override { return store_->reserved(); }

 private:
  class Session final : public Store::Session {
   public:
    explicit Session(std::unique_ptr<Store::Session> session) : session_(std::move(session)) {}

    void find(std::span<const Key> keys, Moment now, const Batching& batch,
              FunctionRef<void(std::size_t first, Items items)> visit) override {
      session_->find(keys, now, batch, visit);
    }
    Effect change(const Key& key, Moment now, FunctionRef<Wish(const Item* before)> decide) override {
      catch_up(now);
      Effect effect = Effect::kNone;
      std::optional<Late> late;
      (void)session_->change(key, now, [&](const Item* before) {
        const Wish wish = decide(before);
        effect = Effect::kNone;
        if (wish.kind() == Wish::Kind::kErase && before != nullptr) effect = Effect::kErased;
        if (wish.kind() == Wish::Kind::kPut) effect = before != nullptr ? Effect::kReplaced : Effect::kInserted;
        late.emplace(Late{std::string(key.text), wish, std::string(wish.first()) + std::string(wish.second())});
        return Wish::leave();
      });
      if (late->wish.kind() != Wish::Kind::kLeave) late_.push_back(*std::move(late));
      return effect;
    }
    Effect put(const Key& key, Moment now, const ItemFields& fields, std::string_view value) override {
      return session_->put(key, now, fields, value);
    }
    Swept sweep(std::size_t most, Moment now) override { return session_->sweep(most, now); }
    std::unique_ptr<Walk> begin_walk() override { return session_->begin_walk(); }
    bool walk_on(Walk& walk, std::size_t most, Moment now, FunctionRef<void(const Item& item)> visit) override {
      return session_->walk_on(walk, most, now, visit);
    }
    u64 next_cas() override { return session_->next_cas(); }
    void idle() override { session_->idle(); }

   private:
    static constexpr std::size_t kLate = 16;
    struct Late {
      std::string key;
      Wish wish;
      std::string value;
    };

    void catch_up(Moment now) {
      if (late_.size() < kLate) return;
      const Late late = std::move(late_.front());
      late_.pop_front();
      const Key key{hash_bytes(late.key, 1), late.key};
      (void)session_->change(key, now, [&](const Item*) {
        return late.wish.kind() == Wish::Kind::kErase ? Wish::erase() : Wish::put(late.wish.fields(), late.value);
      });
    }

    const std::unique_ptr<Store::Session> session_;
    std::deque<Late> late_;
  };

  const std::unique_ptr<Store> store_;
};

TEST_CASE("A server that answers before it changes is found by a history") {
  const ServeCommand command = Served::at_path();
  const Served served(command, std::make_unique<LateStore>(Served::chained(command.server.store)));
  CHECK(run(command.addresses[0], 2000).answer == Linearizable::kNo);
}

TEST_CASE("Histories of mixed clients are linearizable") {
  ServeCommand command = Served::at_path();
  command.server.threads = 2;
  const Served served(command);
  const HistoryVerdict verdict = run(command.addresses[0], calls_of_run());
  CHECK(verdict.calls > calls_of_run() / 2);
  CHECK(verdict.answer == Linearizable::kYes);
  if (verdict.shown) UNSCOPED_INFO("key " << verdict.shown->key);
  CHECK(served.counters().cas_hits > 0);
  CHECK(served.counters().incr_hits > 0);
}

}  // namespace
}  // namespace latchlab::kv
