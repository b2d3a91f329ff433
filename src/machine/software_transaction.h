#pragma once
// What the transactions of the emulated and the simulated machine have in common: an undo log, flat nesting,
// planned aborts, and the way out of an aborted body.
//
// An abort undoes the log at once, in reverse, and then leaves the body by an exception that only
// contain_abort catches. On hardware no destructor runs on that way: here they do, so until the catch the
// transaction is "unwinding", and a machine drops the stores and skips the events of an unwinding body. What
// a body frees is freed at its commit; what it allocates survives an abort, because the lists that remember
// it (AttemptBlocks) are no cells: whoever keeps such a list gives the blocks back.
//
//     idle -> running -> idle            commit
//                `----> unwinding -> idle   abort
//
// While it runs its loads may be suspended: what that means is the machine's.
#include <utility>
#include <vector>

#include "src/arch/rtm_status.h"
#include "src/machine/abort_injection.h"

namespace latchlab {

/// Thrown by an abort. Not a std::exception: no body catches it by accident.
struct TransactionAborted {};

class SoftwareTransaction {
 public:
  using Restore = void (*)(void* at, u64 old);
  struct Freed {
    void* block;
    std::size_t bytes;
  };

  bool running() const { return state_ == State::kRunning; }
  bool unwinding() const { return state_ == State::kUnwinding; }
  u32 depth() const { return depth_; }
  u32 status() const { return status_; }

  /// Enters a body; true for the outermost one, which draws its fate from `plan` (may be null).
  bool enter(AbortInjection* plan) {
    if (depth_++ > 0) return false;
    state_ = State::kRunning;
    suspended_ = false;
    planned_ = plan ? plan->next() : std::nullopt;
    return true;
  }
  bool too_deep() const { return depth_ > kMaxDepth; }

  /// Whether loads are suspended; also while unwinding from there.
  bool suspended() const { return suspended_; }
  /// Both say whether there was something to change.
  [[nodiscard]] bool suspend() { return !std::exchange(suspended_, true); }
  [[nodiscard]] bool resume() { return std::exchange(suspended_, false); }

  /// Leaves a body that has come to its end; true when that commits.
  bool leave() {
    if (--depth_ > 0) return false;
    state_ = State::kIdle;
    undo_.clear();
    return true;
  }

  /// Is this the moment of the planned abort? Counts the accesses. The status is planned_status().
  bool planned(AbortMoment moment) {
    if (!planned_ || planned_->at != moment) return false;
    return moment != AbortMoment::kAccess || --planned_->access == 0;
  }
  u32 planned_status() const { return planned_->status; }

  void remember(void* at, u64 old, Restore restore) { undo_.push_back({at, old, restore}); }

  /// Makes memory as it was before the transaction and says why. The body still has to be left: see unwind().
  void undo(u32 status) {
    while (!undo_.empty()) {
      const Entry& entry = undo_.back();
      entry.restore(entry.at, entry.old);
      undo_.pop_back();
    }
    freed_.clear();
    status_ = status;
  }
  [[noreturn]] void unwind() {
    state_ = State::kUnwinding;
    throw TransactionAborted{};
  }

  /// Leaves an aborted body; true for the outermost one, where the abort ends.
  bool caught() {
    if (--depth_ > 0) return false;
    state_ = State::kIdle;
    return true;
  }

  void free_at_commit(void* block, std::size_t bytes) { freed_.push_back({block, bytes}); }
  std::vector<Freed> take_freed() { return std::exchange(freed_, {}); }

  /// Back to idle, whatever was going on.
  void reset() {
    state_ = State::kIdle;
    depth_ = 0;
    undo_.clear();
    freed_.clear();
  }

 private:
  enum class State : u8 { kIdle, kRunning, kUnwinding };
  struct Entry {
    void* at;
    u64 old;
    Restore restore;
  };
  static constexpr u32 kMaxDepth = 7;  // what the processor allows

  State state_ = State::kIdle;
  bool suspended_ = false;
  u32 depth_ = 0;
  u32 status_ = 0;
  std::optional<PlannedAbort> planned_;
  std::vector<Entry> undo_;
  std::vector<Freed> freed_;
};

/// Runs `body`, somewhere in which engine.begin() and engine.commit() are called. Both may abort, which throws.
/// engine.caught() ends an abort and returns its status, engine.caught_foreign() one by an exception of the body
/// itself: as on hardware, where throwing calls the kernel, that is an abort with status zero. Both rethrow inside an
/// outer body.
template <class Engine, class Body>
u32 contain_abort(Engine& engine, Body&& body) {
  try {
    body();
    return kCommitted;
  } catch (const TransactionAborted&) {
    return engine.caught();
  } catch (...) {
    if (!engine.in_transaction()) throw;
    return engine.caught_foreign();
  }
}

/// The verbs of a machine whose transactions are made by an engine: kEngine returns the one that is running. Beside
/// what contain_abort needs it has suspend_loads, resume_loads, abort_explicitly and exchange_plan.
template <auto kEngine>
struct SoftwareTransactions {
  /// kCommitted, or the abort status; then every cell is as if the body had not run. The body's result must not be used
  /// after an abort.
  template <class Body>
  static u32 transact(Body&& body) {
    return contain([&] {
      begin();
      body();
      end();
    });
  }
  template <class Body>
  static u32 contain(Body&& body) {
    return contain_abort(kEngine(), body);
  }
  static u32 begin() {
    kEngine().begin();
    return kCommitted;
  }
  static void end() { kEngine().commit(); }
  static bool transactions_work() { return true; }
  static bool suspends_loads() { return true; }
  static void suspend_loads() { kEngine().suspend_loads(); }
  static void resume_loads() { kEngine().resume_loads(); }
  /// Only inside a transaction; elsewhere it ends the process.
  template <u8 kCode>
  [[noreturn]] static void abort() {
    kEngine().abort_explicitly(kCode);
  }

  /// A plan for the transactions of the engine that is running, for as long as the result lives.
  class [[nodiscard]] Injected {
   public:
    explicit Injected(AbortInjection plan) : plan_(std::move(plan)), outer_(kEngine().exchange_plan(&plan_)) {}
    ~Injected() { kEngine().exchange_plan(outer_); }
    Injected(const Injected&) = delete;
    Injected& operator=(const Injected&) = delete;

   private:
    AbortInjection plan_;
    AbortInjection* outer_;
  };
  static Injected inject(AbortInjection plan) { return Injected(std::move(plan)); }
};

}  // namespace latchlab
