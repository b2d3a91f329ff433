// The tally of requests that go through a session: it counts as the hot loop does (runner_of.h).
#pragma once

#include <string_view>

#include "harness/loop/request.h"
#include "indexes/erased.h"
#include "src/base/types.h"

namespace latchlab {

class RequestAccount {
 public:
  /// `numbers`: keys are numbers. `value_bits` are those of a value.
  RequestAccount(bool numbers, u32 value_bits) : numbers_(numbers), value_bits_(value_bits) {}

  bool numbers() const { return numbers_; }
  u32 value_bits() const { return value_bits_; }
  ErasedKey key_of(const Request& request) const {
    return numbers_ ? ErasedKey(request.number) : ErasedKey(std::string_view(request.bytes, request.length));
  }
  static void note(OpKind kind, bool succeeded, Tally& tally) {
    ++tally.count[static_cast<std::size_t>(kind)];
    tally.succeeded[static_cast<std::size_t>(kind)] += succeeded;
  }
  /// Returns true if the key was found. Counts an unexpected result as a mistake.
  bool found_right(const Request& request, const Found& found, Tally& tally) const {
    if (!found) {
      tally.missing += request.expect == Expect::kHit;
      return false;
    }
    tally.wrong_values += tag_of(*found ^ request.value) != 0;
    tally.phantoms += request.expect == Expect::kMiss;
    return true;
  }
  /// Counts an insert, update, upsert or erasure. `changed`: it inserted, or found its key.
  [[gnu::always_inline]] void note_change(OpKind kind, const Request& request, bool changed, Tally& tally) const {
    const OpTraits traits = about(kind);
    if (traits.inserts) {
      if (changed) tally.checksum += tag_of(request.value);
      tally.phantoms += !changed && !traits.updates && request.expect == Expect::kMiss;
      tally.missing += changed && traits.updates && request.expect == Expect::kHit;
    } else {
      if (changed && traits.erases) tally.checksum -= tag_of(request.value);
      tally.missing += !changed && request.expect == Expect::kHit;
    }
    note(kind, changed, tally);
  }

 private:
  u64 tag_of(u64 value) const { return value >> value_bits_ / 2; }

  const bool numbers_;
  const u32 value_bits_;
};

}  // namespace latchlab
