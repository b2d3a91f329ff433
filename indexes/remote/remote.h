#pragma once
// `remote`: a key-value server as an index. So workloads, latencies, histories and every figure of the harness work on
// our server (./bench serve), on memcached and on redis alike, by the same client.
//
//     harness --index=remote:addr=127.0.0.1:11211,protocol=meta --sync=own --threads=16 --batch=64
//
// Each thread has its own connections. A batch of lookups is one Multi-Get for each server, and a batch of changes one
// pipeline. Keys that are numbers are 16 hexadecimal digits on the wire, and values are decimal (wording.h). Several
// servers are partitions by consistent hashing (ring.h).
//
// It modifies by versions, as memcached's clients do: it reads a value, and stores another if the version is still the
// same. An increment is one command. An upsert under memcached's commands is an update, then an insert, until one of
// them succeeds.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "indexes/remote/session.h"
#include "src/base/batching.h"
#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/memory/memory_config.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/own.h"

namespace latchlab {

template <class KeyType>
class Remote {
  using Texts = std::span<const std::string_view>;

 public:
  using Policy = Own;
  using Key = KeyType;
  using Raw = typename Key::Raw;
  using Options = remote::Options;
  static constexpr std::string_view kName = "remote";
  static constexpr bool kOrdered = false;
  static constexpr std::string_view kOwnMemory = "the items are in the memory of the servers";
  static constexpr std::string_view kNeeds = "servers";
  static constexpr bool kWaits = true;
  static constexpr bool kSideBySide = true;  // a batch of lookups is one request

  class ThreadState {
   public:
    ThreadState(const Options& options, const remote::Ring& ring)
        : session_(std::make_unique<remote::Session>(options, ring)) {}

    Policy::Counters counters;

   private:
    friend class Remote;
    std::unique_ptr<remote::Session> session_;
    std::string bytes_;  // of keys that are numbers
    std::vector<std::string_view> texts_;
  };

  /// Throws InputError if a server cannot be reached, or has items and `flush` is not set.
  Remote(const Spec& policy, const MemoryConfig&, const Spec& index = {.name = "remote", .arg = {}, .options = {}})
      : options_(Options::parse(index)), ring_(names()) {
    Policy::Options::parse(policy);
    remote::prepare(options_);
  }
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  /// Connects to all servers. Throws ConnectionLost, as every operation does; they throw RemoteError, too.
  ThreadState join() { return ThreadState(options_, ring_); }

  Found find(ThreadState& me, Raw key) const {
    Found found;
    me.session_->find(texts(me, {&key, 1}), {&found, 1});
    return found;
  }
  bool insert(ThreadState& me, Raw key, u64 value) { return put(me, Put::kInsert, key, value); }
  bool update(ThreadState& me, Raw key, u64 value) { return put(me, Put::kUpdate, key, value); }
  bool upsert(ThreadState& me, Raw key, u64 value) { return put(me, Put::kUpsert, key, value); }
  bool erase(ThreadState& me, Raw key) {
    bool done = false;
    me.session_->erase(texts(me, {&key, 1}), {&done, 1});
    return done;
  }
  /// Throws RemoteError under redis' protocol.
  template <class F>
  Modified modify(ThreadState& me, Raw key, const F& f) {
    return me.session_->modify(texts(me, {&key, 1}).front(), f);
  }

  /// Throws RemoteError under redis' protocol.
  Found increment(ThreadState& me, Raw key) {
    Found after;
    me.session_->increment(texts(me, {&key, 1}), {&after, 1});
    return after;
  }
  void increment_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> after, BatchOrder) {
    me.session_->increment(texts(me, keys), after);
  }

  void find_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found, BatchOrder) const {
    me.session_->find(texts(me, keys), found);
  }
  void insert_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values, std::span<bool> changed,
                    BatchOrder) {
    me.session_->put(Put::kInsert, texts(me, keys), values, changed);
  }
  void update_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values, std::span<bool> changed,
                    BatchOrder) {
    me.session_->put(Put::kUpdate, texts(me, keys), values, changed);
  }
  void erase_batch(ThreadState& me, std::span<const Raw> keys, std::span<bool> changed, BatchOrder) {
    me.session_->erase(texts(me, keys), changed);
  }

  /// Visits all pairs of the servers, while no client changes them: the keys by a walk of each server, then their
  /// values in batches. O(keys) memory, since a server's walk may repeat a key.
  template <class Visit>
  void for_each(ThreadState& me, Visit&& visit) const {
    std::unordered_set<u64> seen;
    std::vector<std::string> keys;
    const auto visit_some = [&] {
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      std::vector<Found> found(keys.size());
      me.session_->find(views, found);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (found[i]) visit(raw(keys[i]), *found[i]);
      }
      keys.clear();
    };
    for (const Address& address : options_.addresses) {
      remote::connect(options_, address)->for_each_key([&](std::string_view key) {
        if (!seen.insert(hash_bytes(key, 0)).second) return;
        keys.emplace_back(key);
        if (keys.size() == kMostInAttempt) visit_some();
      });
    }
    visit_some();
  }

  /// Returns false if the servers keep nothing, as an option says.
  [[nodiscard]] bool keeps() const { return options_.keeps; }
  /// Returns the bytes of the items, as the servers count them.
  Footprint bytes() const {
    u64 bytes = 0;
    for (const Address& address : options_.addresses) bytes += remote::connect(options_, address)->bytes();
    return {.live = bytes, .reserved = bytes};
  }

 private:
  bool put(ThreadState& me, Put how, Raw key, u64 value) {
    bool done = false;
    me.session_->put(how, texts(me, {&key, 1}), {&value, 1}, {&done, 1});
    return done;
  }

  /// Returns the keys as they are on the wire, valid until the next call. Throws RemoteError for a key that the
  /// protocol does not allow.
  Texts texts(ThreadState& me, std::span<const Raw> keys) const {
    if constexpr (std::is_same_v<Raw, u64>) {
      me.bytes_.clear();
      me.texts_.clear();
      for (const Raw key : keys) options_.wording.append_key(me.bytes_, key);
      const std::string_view all = me.bytes_;
      const std::size_t size = options_.wording.key_bytes;
      for (std::size_t i = 0; i < keys.size(); ++i) me.texts_.push_back(all.substr(i * size, size));
      return me.texts_;
    } else {
      for (const Raw key : keys) remote::check_key(options_, key);
      return keys;
    }
  }
  [[nodiscard]] Raw raw(std::string_view text) const {
    if constexpr (std::is_same_v<Raw, u64>) {
      const std::optional<u64> key = options_.wording.key_in(text);
      if (!key) throw remote::RemoteError("a server has an item of another client: " + std::string(text));
      return *key;
    } else {
      return text;
    }
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Address& address : options_.addresses) names.push_back(address.text);
    return names;
  }

  const Options options_;
  const remote::Ring ring_;
};

}  // namespace latchlab
