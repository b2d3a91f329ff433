#pragma once
// The common part of emulated and simulated transactions: an undo log, flat nesting, planned aborts, and the way out of
// an aborted body.
//
// An abort undoes the log at once, in reverse, and then leaves the body by an exception that only contain_abort
// catches. On hardware no destructor runs on that way, but here destructors do. So until the catch the transaction is
// "unwinding": the machine drops the stores and skips the events of an unwinding body. A block that a body frees is
// freed at its commit. A block that it allocates survives an abort, because the list that holds it (AttemptBlocks) is
// not a cell. The owner of that list gives the block back.
//
//     idle -> running -> idle               commit
//                `----> unwinding -> idle   abort
//
// The loads of a running transaction may be suspended; the machine decides what that means.
#include <utility>
#include <vector>

#include "src/arch/rtm_status.h"
#include "src/machine/abort_injection.h"

namespace latchlab {

/// The exception by which an abort leaves a body. It is no std::exception, so no body catches it by accident.
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

  /// Enters a body. Returns true for the outermost one, which asks `plan` (may be null) for a planned abort.
  bool enter(AbortInjection* plan) {
    if (depth_++ > 0) return false;
    state_ = State::kRunning;
    suspended_ = false;
    planned_ = plan ? plan->next() : std::nullopt;
    return true;
  }
  bool too_deep() const { return depth_ > kMaxDepth; }

  /// Returns true while loads are suspended, and while an abort during that time unwinds.
  bool suspended() const { return suspended_; }
  /// Suspends loads; returns false if they were suspended already.
  [[nodiscard]] bool suspend() { return !std::exchange(suspended_, true); }
  /// Resumes loads; returns false if they were not suspended.
  [[nodiscard]] bool resume() { return std::exchange(suspended_, false); }

  /// Leaves a body at its end. Returns true for the outermost one, which commits.
  bool leave() {
    if (--depth_ > 0) return false;
    state_ = State::kIdle;
    undo_.clear();
    return true;
  }

  /// Returns true if the plan aborts at this moment, with planned_status(). Counts the accesses.
  bool planned(AbortMoment moment) {
    if (!planned_ || planned_->at != moment) return false;
    return moment != AbortMoment::kAccess || --planned_->access == 0;
  }
  u32 planned_status() const { return planned_->status; }

  void remember(void* at, u64 old, Restore restore) { undo_.push_back({at, old, restore}); }

  /// Restores memory to its state before the transaction and records the status. The body must still be left: see
  /// unwind().
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

  /// Leaves an aborted body. Returns true for the outermost one, where the abort ends.
  bool caught() {
    if (--depth_ > 0) return false;
    state_ = State::kIdle;
    return true;
  }

  void free_at_commit(void* block, std::size_t bytes) { freed_.push_back({block, bytes}); }
  std::vector<Freed> take_freed() { return std::exchange(freed_, {}); }

  /// Returns to idle from any state.
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
  static constexpr u32 kMaxDepth = 7;  // the processor's limit

  State state_ = State::kIdle;
  bool suspended_ = false;
  u32 depth_ = 0;
  u32 status_ = 0;
  std::optional<PlannedAbort> planned_;
  std::vector<Entry> undo_;
  std::vector<Freed> freed_;
};

/// Runs `body`, which calls engine.begin() and engine.commit(); both may abort, which throws. engine.caught() ends an
/// abort and returns its status. engine.caught_foreign() ends a transaction that an exception of the body leaves. That
/// is an abort with status zero, as on hardware, where throwing calls the kernel. Both rethrow inside an outer body.
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

/// The verbs of a machine whose transactions an engine makes. kEngine returns the running engine. Besides the functions
/// that contain_abort needs, it has suspend_loads, resume_loads, abort_explicitly and exchange_plan.
template <auto kEngine>
struct SoftwareTransactions {
  /// Runs the body as a transaction. Returns kCommitted or the abort status. After an abort every cell is as if the
  /// body had not run, and the caller must not use the body's result.
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
  /// Aborts the transaction. Outside a transaction it ends the process.
  template <u8 kCode>
  [[noreturn]] static void abort() {
    kEngine().abort_explicitly(kCode);
  }

  /// A plan for the transactions of the running engine while the object lives.
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
