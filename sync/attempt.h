#pragma once
// What one run of a body came to: a value, or the reason why it has none.
#include <optional>
#include <utility>

#include "src/base/types.h"

namespace latchlab {

enum class Failure : u8 {
  kRestart = 1,   ///< something read has changed: run the body again
  kNoMemory = 2,  ///< make returned null: the policy unlocks, then throws std::bad_alloc
};
inline constexpr Failure kRestart = Failure::kRestart;
inline constexpr Failure kNoMemory = Failure::kNoMemory;

/// The value of a key; nothing where it is not there.
using Found = std::optional<u64>;

/// How a pair is put.
enum class Put : u8 {
  kInsert,  ///< if the key is absent
  kUpdate,  ///< if it is there
  kUpsert   ///< either way
};

/// What is about to be done with a key: an insert may need more of the index than a change of what is there.
enum class Hint : u8 { kInsert, kChange };

/// What came of putting a pair into an index that may have to make room first.
enum class PutResult : u8 {
  kNo,  ///< it is not new, and an insert changed nothing; or it is not there to be updated
  kYes,
  kNoRoom,  ///< nothing was changed: to be tried again when room has been made
};

/// What came of a step of a task.
enum class StepResult : u8 {
  kOneDone,  ///< one of many things alike was done
  kChanged,  ///< what is left has been written
  kFull,     ///< the index may have no more, and that was all
};

/// What came of a step to a child with a guess.
enum class GuessResult : u8 {
  kChanged,  ///< the node has changed: restart
  kOther,    ///< arrived, at a node with another tag
  kGuessed,  ///< arrived, as guessed
};

template <class T>
class [[nodiscard]] Attempt {
 public:
  using Value = T;

  constexpr Attempt(T value) : value_(std::move(value)), failure_(0) {}
  constexpr Attempt(Failure failure) : failure_(static_cast<u8>(failure)) {}

  constexpr explicit operator bool() const { return failure_ == 0; }
  constexpr Failure failure() const { return static_cast<Failure>(failure_); }  // only where there is no value
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
