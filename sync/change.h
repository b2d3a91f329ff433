#pragma once
// The values that bodies get: what is to be put, and which pair is to be erased. Each is a value, or a function of the
// value that is there. So one body of an index serves updates and modifications.
//
//     put_in(tx, key, value, how)   value.first()        the value of a key that was absent
//                                   value.change(cell)   changes that of a present key; the cell's node is upgraded
//     erase_in(tx, key, wanted)     wanted.fits(cell)    is false if the pair must stay
//
// A body takes them by value: they are one or two words, which a reference would load anew at each use.
//
// A function runs inside the attempt, perhaps several times; its last run counts. It is a part of the body, and obeys
// the rules of bodies (sync/concepts.h): it has no effect but its result, or a place for the result that the caller
// gave it, and cells that exclusive access to the pair guards. It does not throw. (The abort of a machine that emulates
// transactions passes through it, so it is not noexcept if it accesses cells.)
//
// `fits` is asked before the upgrade if that proves the cell's content, and otherwise after it: updates by
// upgrade_value leave no trace in a version.
#include "src/base/types.h"
#include "sync/attempt.h"

namespace latchlab {

/// A constant to put.
struct SetTo {
  u64 value;

  [[gnu::always_inline]] u64 first() const { return value; }
  [[gnu::always_inline]] void change(auto&& cell) const { cell.store(value); }
};

/// A function of the value that is there: `function(u64)` returns the new value, or nothing to leave the old one.
template <class Function>
struct ChangeBy {
  const Function& function;
  u64 value = 0;  ///< of a key that is absent

  [[gnu::always_inline]] u64 first() const { return value; }
  [[gnu::always_inline]] void change(auto&& cell) const {
    if (const Found after = function(cell.load())) cell.store(*after);
  }
};

/// Any pair may be erased.
struct AnyValue {
  [[gnu::always_inline]] bool fits(const auto&) const { return true; }
};

/// A condition on the value of the pair to erase.
template <class Condition>
struct ValueThat {
  const Condition& condition;

  [[gnu::always_inline]] bool fits(const auto& cell) const { return condition(cell.load()); }
};

/// A value that is not in a cell, for a body under exclusion.
class PlainCell {
 public:
  explicit PlainCell(u64& value) : value_(value) {}
  u64 load() const { return value_; }
  void store(u64 value) const { value_ = value; }

 private:
  u64& value_;
};

/// The result of an operation that may leave a present key as it is.
enum class Changed : u8 {
  kAbsent,   ///< the key was absent
  kLeft,     ///< the key was present, and the pair is unchanged
  kChanged,  ///< the key was present, and its value was changed, or the pair erased
};

/// The value of a key before a modification and after it; nothing: absent.
struct Modified {
  Found before, after;
};

}  // namespace latchlab
