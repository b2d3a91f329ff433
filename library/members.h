#pragma once
// The threads of a shared object: each has a state in it, made at its first call and destroyed when the thread exits.
// The object may end before its threads, and its threads before the object.
//
//     map.find(key)
//       |
//       v
//     recent_members[id % 8]      of this thread: the members that it used last
//       | another id
//       v
//     MembersOfThread             of this thread: id -> member, for every object that it has joined
//       | not there
//       v
//     Members::add                of the object: the list of all its members, which it owns
//
// Invariants:
//   1. Members owns every member that was added. Such a member is destroyed under the mutex: by leave, or by close.
//   2. After close there is no member, and leave does nothing. So the object and a thread may end at the same time.
//   3. An id is never used again. So what a thread still knows of an object that has ended matches no other object.
//   4. Each thread and each Session shares ownership of the Members that it belongs to.
//
// A thread that has begun to exit may still call the object, from the destructor of a thread_local variable or of a
// static one. It joins again, and that member stays until close.
//
// In the child of a fork only the forking thread exists. Its members are valid. Those of the other threads stay until
// close, which the child may call.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "src/base/types.h"

namespace latchlab {

/// A thread's state in a shared object; a class for a kind of object derives from it.
class Member {
 public:
  Member() = default;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  virtual ~Member() = default;

  /// Adds `more` to the count of this member if `changed`, and returns `changed`. Only the member's own thread calls
  /// it.
  bool counted(i64 more, bool changed) {
    if (changed) count_.store(count_.load(kRelaxed) + more, kRelaxed);  // relaxed: only a count
    return changed;
  }

 private:
  friend class Members;
  std::atomic<i64> count_{0};
  Member* next_ = nullptr;  // this and the next are guarded by the mutex of Members
  Member* previous_ = nullptr;
};

/// The members of one object, which holds it by a shared pointer.
class Members {
 public:
  Members() = default;
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() { close(); }

  /// Takes a member into the list. Takes a mutex.
  Member& add(std::unique_ptr<Member> member);
  /// Destroys a member and keeps its count. Does nothing after close. Takes a mutex.
  void leave(Member& member);
  /// Destroys all members. The object calls it before it ends, while no thread uses it.
  void close();
  /// Returns true after close.
  bool closed() const { return closed_.load(kRelaxed); }  // relaxed: only a hint to forget these members

  /// Returns the sum of the counts of all members, those that have left included. Exact while no thread counts. Takes a
  /// mutex, O(members).
  i64 count() const;

  u64 id() const { return id_; }

 private:
  static u64 new_id();

  const u64 id_ = new_id();
  mutable std::mutex mutex_;  // guards the list and left_
  Member* first_ = nullptr;
  i64 left_ = 0;  // the counts of the members that have left
  std::atomic<bool> closed_{false};
};

/// A member that this thread has used lately.
struct RecentMember {
  u64 id = 0;  ///< of its Members; 0 is none
  Member* member = nullptr;
};

/// The members that this thread used last. Objects whose ids differ by less than their number do not share a place.
inline constinit thread_local std::array<RecentMember, 8> recent_members{};

/// Returns this thread's member; null if it has not joined. O(1). Needed if recent_members has another.
[[nodiscard]] Member* member_of_this_thread(const Members& members);

/// Makes `member` this thread's member until the thread exits. Throws std::bad_alloc.
Member& join_this_thread(const std::shared_ptr<Members>& members, std::unique_ptr<Member> member);

}  // namespace latchlab
