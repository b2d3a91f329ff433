#pragma once
// The result of one attempt, which is one run of a body: a value, or the reason why there is none.
#include <optional>
#include <utility>

#include "src/base/types.h"

namespace latchlab {

enum class Failure : u8 {
  kRestart = 1,   ///< data that was read has changed: run the body again
  kNoMemory = 2,  ///< make returned null: the policy unlocks, then throws std::bad_alloc
};
inline constexpr Failure kRestart = Failure::kRestart;
inline constexpr Failure kNoMemory = Failure::kNoMemory;

/// True for the transaction of a small attempt (sync/small_tx.h).
template <class Tx>
inline constexpr bool kSmall = requires { Tx::kIsSmall; };

/// The value of a key; nothing if the key is absent.
using Found = std::optional<u64>;

/// The condition under which a pair is put.
enum class Put : u8 {
  kInsert,  ///< only if the key is absent
  kUpdate,  ///< only if the key is present
  kUpsert   ///< in both cases
};

/// The operation that a prefetch prepares: an insert may need more lines of the index than a change of a present key,
/// and a lookup only reads them.
enum class Hint : u8 { kInsert, kChange, kFind };

/// The result of putting a pair into an index that may have to make room first.
enum class PutResult : u8 {
  kNo,      ///< an insert or upsert found the key present (an insert changed nothing), or an update found it absent
  kYes,     ///< an insert or upsert added the pair, or an update changed its value
  kNoRoom,  ///< nothing was changed: try again after room has been made
};

/// The result of one step of a maintenance task.
enum class StepResult : u8 {
  kOneDone,  ///< one of many equal parts of the work is done
  kChanged,  ///< the step has written the rest of the task
  kFull,     ///< the index may not grow any more, so the task ends
};

/// The result of a step to a child whose tag was guessed.
enum class GuessResult : u8 {
  kChanged,  ///< the node has changed: restart
  kOther,    ///< the step succeeded, and the child has another tag
  kGuessed,  ///< the step succeeded, and the guess was right
};

/// The result of an attempt: a value or a Failure.
template <class T>
class [[nodiscard]] Attempt {
 public:
  using Value = T;

  constexpr Attempt(T value) : value_(std::move(value)), failure_(0) {}
  constexpr Attempt(Failure failure) : failure_(static_cast<u8>(failure)) {}

  constexpr explicit operator bool() const { return failure_ == 0; }
  constexpr Failure failure() const { return static_cast<Failure>(failure_); }  // only if there is no value
  constexpr T& operator*() & { return value_; }
  constexpr T operator*() && { return std::move(value_); }
  constexpr const T& operator*() const& { return value_; }
  constexpr T* operator->() { return &value_; }
  constexpr const T* operator->() const { return &value_; }

 private:
  T value_{};
  u8 failure_;
};

}  // namespace latchlab
