#include "library/members.h"

#include <unordered_map>
#include <utility>

namespace latchlab {

namespace {

/// What this thread has joined. Its destructor runs when the thread exits.
class MembersOfThread {
 public:
  ~MembersOfThread();

  Member* find(u64 id) const {
    const auto at = joined_.find(id);
    return at == joined_.end() ? nullptr : at->second.member;
  }

  Member& join(const std::shared_ptr<Members>& members, std::unique_ptr<Member> member) {
    if (joined_.size() >= forget_at_) forget_closed();
    const auto at = joined_.try_emplace(members->id(), Joined{members, nullptr}).first;  // first, since it may throw
    at->second.member = &members->add(std::move(member));
    return *at->second.member;
  }

 private:
  struct Joined {
    std::shared_ptr<Members> members;
    Member* member;
  };

  // Forgets objects that have ended. The next time comes when twice as many are known as are left: O(1) a join.
  void forget_closed() {
    std::erase_if(joined_, [](const auto& entry) { return entry.second.members->closed(); });
    forget_at_ = 2 * joined_.size() + kFewest;
  }

  static constexpr std::size_t kFewest = 16;
  std::unordered_map<u64, Joined> joined_;
  std::size_t forget_at_ = kFewest;
};

thread_local MembersOfThread members_of_thread;
constinit thread_local bool exits = false;  // true once members_of_thread is gone

MembersOfThread::~MembersOfThread() {
  exits = true;
  recent_members = {};
  for (auto& [id, joined] : joined_) joined.members->leave(*joined.member);
}

Member& remember(const Members& members, Member& member) {
  recent_members[members.id() % recent_members.size()] = {members.id(), &member};
  return member;
}

}  // namespace

u64 Members::new_id() {
  static constinit std::atomic<u64> last{0};
  return last.fetch_add(1, kRelaxed) + 1;  // relaxed: only unique
}

Member& Members::add(std::unique_ptr<Member> member) {
  const std::lock_guard lock(mutex_);
  member->next_ = first_;
  if (first_ != nullptr) first_->previous_ = member.get();
  first_ = member.release();
  return *first_;
}

void Members::leave(Member& member) {
  const std::lock_guard lock(mutex_);
  if (closed()) return;
  left_ += member.count_.load(kRelaxed);
  (member.previous_ == nullptr ? first_ : member.previous_->next_) = member.next_;
  if (member.next_ != nullptr) member.next_->previous_ = member.previous_;
  delete &member;
}

void Members::close() {
  const std::lock_guard lock(mutex_);
  while (first_ != nullptr) delete std::exchange(first_, first_->next_);
  closed_.store(true, kRelaxed);  // relaxed: the mutex orders it for leave
}

i64 Members::count() const {
  const std::lock_guard lock(mutex_);
  i64 sum = left_;
  for (const Member* member = first_; member != nullptr; member = member->next_) sum += member->count_.load(kRelaxed);
  return sum;
}

Member* member_of_this_thread(const Members& members) {
  if (exits) return nullptr;
  Member* const member = members_of_thread.find(members.id());
  return member == nullptr ? nullptr : &remember(members, *member);
}

Member& join_this_thread(const std::shared_ptr<Members>& members, std::unique_ptr<Member> member) {
  return remember(*members,
                  exits ? members->add(std::move(member)) : members_of_thread.join(members, std::move(member)));
}

}  // namespace latchlab
