#pragma once
// The oracle: a std::map beside an index. Every operation runs on both, and the first difference is kept as one line.
// One thread only.
//
// A Session has the operations of StringSession (indexes/erased_testing.h): find, insert, update, upsert, erase, scan,
// for_each, over byte strings.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/batching.h"
#include "src/base/rng.h"
#include "src/base/types.h"
#include "src/testing/key_patterns.h"

namespace latchlab::testing {

template <class Session>
class Oracle {
 public:
  using Model = std::map<std::string, u64>;  // its order is that of unsigned bytes

  /// Begins with the session's index, which must be empty. If it cannot erase, erase does nothing here either.
  Oracle(Session& session, bool ordered, bool erases = true) : session_(session), ordered_(ordered), erases_(erases) {}

  bool ok() const { return complaint_.empty(); }
  const std::string& complaint() const { return complaint_; }
  const Model& model() const { return model_; }

  void find(const std::string& key) {
    const auto at = model_.find(key);
    const std::optional<u64> found = session_.find(key);
    answer("find", key, value_or_absent(found), at == model_.end() ? "absent" : std::to_string(at->second));
  }
  void find_batch(const std::vector<std::string>& keys, BatchOrder order) {
    const std::vector<std::optional<u64>> found = session_.find_batch(keys, order);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto at = model_.find(keys[i]);
      answer("find_batch", keys[i], found[i] ? std::to_string(*found[i]) : "absent",
             at == model_.end() ? "absent" : std::to_string(at->second));
    }
  }
  void insert_batch(const std::vector<std::string>& keys, const std::vector<u64>& values, BatchOrder order) {
    const std::vector<bool> inserted = session_.insert_batch(keys, values, order);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      answer("insert_batch", keys[i], bool{inserted[i]}, model_.emplace(keys[i], values[i]).second);
    }
  }
  void erase_batch(const std::vector<std::string>& keys, BatchOrder order) {
    if (!erases_) return;
    const std::vector<bool> erased = session_.erase_batch(keys, order);
    for (std::size_t i = 0; i < keys.size(); ++i)
      answer("erase_batch", keys[i], bool{erased[i]}, model_.erase(keys[i]) != 0);
  }
  /// Updates in turn: a key that repeats ends with its last value.
  void update_batch(const std::vector<std::string>& keys, const std::vector<u64>& values, BatchOrder order) {
    const std::vector<bool> changed = session_.update_batch(keys, values, order);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto at = model_.find(keys[i]);
      if (at != model_.end()) at->second = values[i];
      answer("update_batch", keys[i], bool{changed[i]}, at != model_.end());
    }
  }
  void insert(const std::string& key, u64 value) {
    const bool fresh = model_.emplace(key, value).second;
    answer("insert", key, session_.insert(key, value), fresh);
  }
  void update(const std::string& key, u64 value) {
    const auto at = model_.find(key);
    if (at != model_.end()) at->second = value;
    answer("update", key, session_.update(key, value), at != model_.end());
  }
  void upsert(const std::string& key, u64 value) {
    const bool fresh = model_.insert_or_assign(key, value).second;
    answer("upsert", key, session_.upsert(key, value), fresh);
  }
  void erase(const std::string& key) {
    if (!erases_) return;
    const bool there = model_.erase(key) != 0;
    answer("erase", key, session_.erase(key), there);
  }
  /// Changes the pair in one of several ways, of which `value` chooses one, if the session can.
  void modify(const std::string& key, u64 value) {
    if (!erases_ || !session_.modifies()) return;
    const auto change = [value](std::optional<u64> before) { return changed_by(value, before); };
    compare_modified("modify", key, value, session_.modify(key, change));
  }
  /// Does so for keys[i] and values[i].
  void modify_batch(const std::vector<std::string>& keys, const std::vector<u64>& values, BatchOrder order) {
    if (!erases_ || !session_.modifies()) return;
    const auto change = [&values](std::size_t i, const std::optional<u64>& before) {
      return changed_by(values[i], before);
    };
    const auto modified = session_.modify_batch(keys, change, order);
    for (std::size_t i = 0; i < keys.size(); ++i) compare_modified("modify_batch", keys[i], values[i], modified[i]);
  }

  void scan(const std::string& from, std::size_t limit) {
    if (!ordered_) return;
    ++operations_;
    auto at = model_.lower_bound(from);
    std::size_t seen = 0;
    const std::size_t counted = session_.scan(from, limit, [&](std::string_view key, u64 value) {
      if (seen++ >= limit) return differ("scan", from, "more pairs than the limit " + std::to_string(limit));
      if (at == model_.end()) return differ("scan", from, "a pair beyond the last: " + shown(key));
      if (at->first != key || at->second != value) {
        differ("scan", from,
               shown(key) + "=" + std::to_string(value) + " where " + shown(at->first) + "=" +
                   std::to_string(at->second) + " is next");
      }
      ++at;
    });
    if (counted != seen) differ("scan", from, "its count is not that of its pairs");
    if (seen < limit && at != model_.end()) differ("scan", from, "it ends before " + shown(at->first));
  }

  /// Compares every pair through for_each, and their order if the index is ordered.
  void compare_all() {
    ++operations_;
    Model seen;
    std::string previous;
    session_.for_each([&](std::string_view key, u64 value) {
      if (ordered_ && !seen.empty() && previous >= key)
        differ("for_each", std::string(key), "out of order after " + shown(previous));
      previous = key;
      if (!seen.emplace(key, value).second) differ("for_each", previous, "seen twice");
    });
    if (seen == model_) return;
    for (const auto& [key, value] : model_) {
      const auto at = seen.find(key);
      if (at == seen.end()) return differ("for_each", key, "missed");
      if (at->second != value)
        return differ("for_each", key, std::to_string(at->second) + " instead of " + std::to_string(value));
    }
    for (const auto& [key, value] : seen) {
      if (!model_.contains(key)) return differ("for_each", key, "it was never inserted");
    }
  }

  /// Runs one random operation on `key`. `adds` and `erases` are the percentages of operations that add and erase; the
  /// rest updates, scans or finds.
  void random_operation(Rng& rng, const std::string& key, u32 adds, u32 erases) {
    const u64 value = rng.below(16) == 0 ? (rng.below(2) == 0 ? 0 : ~u64{0}) : rng();
    const u64 ticket = rng.below(100);
    if (ticket < adds) {
      rng.below(2) == 0 ? insert(key, value) : upsert(key, value);
    } else if (ticket < adds + erases) {
      erase(key);
    } else {
      switch (rng.below(5)) {
        case 0: update(key, value); break;
        case 4: modify(key, rng()); break;
        case 1: scan(key, rng.below(80)); break;
        default: find(key);
      }
    }
  }

 private:
  static std::optional<u64> changed_by(u64 value, const std::optional<u64>& before) {
    switch (value % 6) {
      case 0: return value;                                             // upsert
      case 1: return before ? before : std::optional(value);            // insert if absent
      case 2: return before ? std::optional(*before + value) : before;  // add if present
      case 3: return std::nullopt;                                      // erase
      case 4: return before ? std::nullopt : std::optional(value);      // erase or insert
      default: return before;
    }
  }
  /// Changes the model, and compares what the session says of the change.
  void compare_modified(const char* verb, const std::string& key, u64 value, const auto& done) {
    const auto at = model_.find(key);
    const std::optional<u64> before = at == model_.end() ? std::nullopt : std::optional(at->second);
    const std::optional<u64> after = changed_by(value, before);
    if (after) {
      model_.insert_or_assign(key, *after);
    } else {
      model_.erase(key);
    }
    answer(verb, key, value_or_absent(done.before), value_or_absent(before));
    answer(verb, key, value_or_absent(done.after), value_or_absent(after));
  }

  static std::string value_or_absent(const std::optional<u64>& found) {
    return found ? std::to_string(*found) : "absent";
  }
  static std::string text(const std::string& answer) { return answer; }
  static std::string text(bool answer) { return answer ? "true" : "false"; }
  template <class Answer>
  void answer(const char* verb, const std::string& key, const Answer& got, const Answer& wanted) {
    ++operations_;
    if (got != wanted) differ(verb, key, text(got) + " instead of " + text(wanted));
  }
  void differ(const char* verb, const std::string& key, const std::string& what) {
    if (!complaint_.empty()) return;
    complaint_ = "operation " + std::to_string(operations_) + ", " + verb + "(" + shown(key) + "): " + what + ", at " +
                 std::to_string(model_.size()) + " keys";
  }

  Session& session_;
  const bool ordered_, erases_;
  Model model_;
  u64 operations_ = 0;
  std::string complaint_;
};

}  // namespace latchlab::testing
