#pragma once
// A group of a batch of changes of sized values (indexes/sized.h). Its blocks are made before the first attempt, and
// what the index has not taken, or has given, is settled after the last:
//
//     make the values -> enter the epoch -> the batch of the index of words -> leave -> tell the results, free, retire
//
// So a batch that ends by an exception loses nothing: what it has done stays done and is told.
#include <array>
#include <cstddef>
#include <span>

#include "src/base/batching.h"
#include "src/base/types.h"
#include "src/memory/attempt_blocks.h"
#include "src/memory/values.h"
#include "sync/change.h"

namespace latchlab::sized {

/// The words of a group: those that it puts, and the changes of the index. Owner is a Sized. It must outlive the stay
/// in the epoch: the thread's own stay would delay the collection.
template <class Owner>
class Group {
  using ThreadState = typename Owner::ThreadState;

 public:
  /// The most keys of a group: the reclaimer has room for as many blocks.
  static constexpr std::size_t kMost = AttemptBlocks<typename Owner::Machine>::kMaxBlocks;

  Group(ThreadState& me, std::span<bool> changed) : me_(me), changed_(changed) {}
  ~Group() {
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      const auto [before, after] = modified_[i];
      const bool there = before && !Owner::is_claimed(*before);
      changed_[i] = after ? !there : there;
      if (before) Owner::retire(me_, *before);
      if (!after && i < count_) Owner::Store::free(*me_.pool_, made_[i]);
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Makes the values. Throws as Owner::make does.
  void make(Owner& owner, std::span<const typename Owner::Raw> keys, std::span<const ByteSpan> values) {
    for (; count_ < values.size(); ++count_) made_[count_] = owner.make(me_, keys[count_], values[count_]);
  }
  std::span<const u64> made() const { return std::span(made_).first(count_); }
  /// Returns the changes of the index: nothing, before and after, for a key whose turn has not come.
  std::span<Modified> modified() { return std::span(modified_).first(changed_.size()); }

  /// Tells the owner at its end which values of the group it has published, inside the epoch.
  class Publishing {
   public:
    Publishing(Owner& owner, const Group& group, std::span<const typename Owner::Raw> keys)
        : owner_(owner), group_(group), keys_(keys) {}
    ~Publishing() {
      for (std::size_t i = 0; i < group_.count_; ++i) {
        if (group_.modified_[i].after) owner_.published(group_.me_, keys_[i], group_.made_[i]);
      }
    }
    Publishing(const Publishing&) = delete;
    Publishing& operator=(const Publishing&) = delete;

   private:
    Owner& owner_;
    const Group& group_;
    const std::span<const typename Owner::Raw> keys_;
  };

  /// Inserts the pairs by the index's own batch.
  void insert_in(auto& index, std::span<const typename Owner::Raw> keys, BatchOrder order) {
    struct Tell {
      ~Tell() {
        for (std::size_t i = 0; i < group.changed_.size(); ++i) {
          if (group.changed_[i]) group.modified_[i].after = group.made_[i];
        }
      }
      Group& group;
    } const tell{*this};
    index.insert_batch(me_.index, keys, made(), changed_, order);
  }

 private:
  ThreadState& me_;
  const std::span<bool> changed_;
  std::size_t count_ = 0;
  std::array<u64, kMost> made_;
  std::array<Modified, kMost> modified_{};
};

}  // namespace latchlab::sized
