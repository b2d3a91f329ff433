#pragma once
// An index with the interface of the oracle, which is a std::map<std::string, u64> for every index: keys are strings. A
// number is spelled in eight bytes, most significant first, so that strings and numbers have the same order.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "indexes/erased.h"
#include "src/base/types.h"

namespace latchlab::testing {

/// Returns the number as a key of eight bytes.
[[nodiscard]] inline std::string number_key(u64 number) {
  std::string out(8, '\0');
  for (u32 i = 0; i < 8; ++i) out[i] = static_cast<char>(number >> (56 - 8 * i));
  return out;
}

/// Returns the number that a key of eight bytes spells.
[[nodiscard]] inline u64 key_number(std::string_view key) {
  u64 out = 0;
  for (const char c : key) out = out << 8 | static_cast<u8>(c);
  return out;
}

/// One thread's access to the index, like Erased::Session, with keys as strings.
class StringSession {
 public:
  using Visit = std::function<void(std::string_view key, u64 value)>;
  using Strings = std::vector<std::string>;

  explicit StringSession(Erased& index)
      : numbers_(index.numbers()), modifies_(index.modifies()), session_(index.join()) {}

  Found find(std::string_view key) {
    Found found = ~u64{0};  // find must overwrite this
    const ErasedKey erased = key_of(key);
    session_->find(std::span(&erased, 1), std::span(&found, 1), BatchOrder::kInTurn);
    return found;
  }
  std::vector<Found> find_batch(const Strings& keys, BatchOrder order) {
    std::vector<Found> found(keys.size(), ~u64{0});
    session_->find(keys_of(keys), found, order);
    return found;
  }
  bool insert(std::string_view key, u64 value) { return put(Put::kInsert, key, value); }
  bool update(std::string_view key, u64 value) { return put(Put::kUpdate, key, value); }
  bool upsert(std::string_view key, u64 value) { return put(Put::kUpsert, key, value); }
  bool erase(std::string_view key) {
    const ErasedKey erased = key_of(key);
    bool done = false;
    session_->erase(std::span(&erased, 1), std::span(&done, 1), BatchOrder::kInTurn);
    return done;
  }
  Removed replace(Put how, std::string_view key, u64 value) { return session_->replace(how, key_of(key), value); }
  Removed remove(std::string_view key) { return session_->remove(key_of(key)); }
  bool modifies() const { return modifies_; }
  Modified modify(std::string_view key, const Erased::Change& change) { return session_->modify(key_of(key), change); }
  std::vector<Modified> modify_batch(const Strings& keys, Erased::BatchChange change, BatchOrder order) {
    std::vector<Modified> modified(keys.size(), {~u64{0}, ~u64{0}});  // modify must overwrite these
    session_->modify(keys_of(keys), modified, change, order);
    return modified;
  }
  std::vector<bool> insert_batch(const Strings& keys, const std::vector<u64>& values, BatchOrder order) {
    return changed(keys.size(), [&](auto done) { session_->put(Put::kInsert, keys_of(keys), values, done, order); });
  }
  std::vector<bool> update_batch(const Strings& keys, const std::vector<u64>& values, BatchOrder order) {
    return changed(keys.size(), [&](auto done) { session_->put(Put::kUpdate, keys_of(keys), values, done, order); });
  }
  std::vector<bool> erase_batch(const Strings& keys, BatchOrder order) {
    return changed(keys.size(), [&](auto done) { session_->erase(keys_of(keys), done, order); });
  }
  void prefetch(const Strings& keys, Hint hint) { session_->prefetch(keys_of(keys), hint); }
  std::size_t scan(std::string_view from, std::size_t limit, const Visit& visit) {
    return session_->scan(key_of(from), limit, shown_to(visit));
  }
  void for_each(const Visit& visit) { session_->for_each(shown_to(visit)); }
  [[nodiscard]] std::string inconsistency() const { return session_->inconsistency(); }

 private:
  ErasedKey key_of(std::string_view key) const { return numbers_ ? ErasedKey(key_number(key)) : ErasedKey(key); }
  std::vector<ErasedKey> keys_of(const Strings& keys) const {
    std::vector<ErasedKey> out;
    for (const std::string& key : keys) out.push_back(key_of(key));
    return out;
  }
  bool put(Put how, std::string_view key, u64 value) {
    const ErasedKey erased = key_of(key);
    bool done = false;
    session_->put(how, std::span(&erased, 1), std::span(&value, 1), std::span(&done, 1), BatchOrder::kInTurn);
    return done;
  }
  template <class Change>
  static std::vector<bool> changed(std::size_t count, const Change& change) {
    const auto done = std::make_unique<bool[]>(count);
    change(std::span(done.get(), count));
    return std::vector<bool>(done.get(), done.get() + count);
  }
  Erased::Visit shown_to(const Visit& visit) const {
    return [this, &visit](ErasedKey key, u64 value) {
      numbers_ ? visit(number_key(key.number), value) : visit(raw_of<std::string_view>(key), value);
    };
  }

  const bool numbers_, modifies_;
  const std::unique_ptr<Erased::Session> session_;
};

}  // namespace latchlab::testing
