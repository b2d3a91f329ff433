#pragma once
// Operations on values that are vectors (src/vector), over an index of sized values (indexes/sized.h). Each is atomic
// over its value: an update is one modification, whose kernel reads the old block and writes the new one, without a
// copy between them. (A reduction or a filter is a visit of one value, which does not change meanwhile.)
//
//     old block --kernel--> new block      then one attempt replaces the word; the old block is retired
//
//     block --kernel--> the same block     in place: the option of an index that nobody reads outside its lock
//
// An update that comes too late for several times runs its kernel under the policy's latch or lock, as every
// modification does. In a hardware transaction the kernel's vzeroupper aborts; the policy's fallback then serves.
#include <cstddef>
#include <exception>
#include <optional>
#include <span>

#include "indexes/sized_modify.h"
#include "src/memory/values.h"
#include "src/vector/update.h"

namespace latchlab::sized {

/// Updates the vector of a key in one step. Returns kDone, kAbsent, or why the update does not fit; then nothing has
/// changed. Calls before(bytes) for the old vector and after(bytes) for the new one, when it has made it. They may be
/// called several times, and the last calls count: so their only effect is a place for a result. What they throw,
/// update_vector throws, and nothing has changed. The value's used bit stays. `Index` is a Sized. O(size). Throws as
/// Sized::modify does.
template <class Index, class Before, class After>
[[nodiscard]] vectors::Status update_vector(Index& index, typename Index::ThreadState& me, typename Index::Raw key,
                                            const vectors::Update& update, const Before& before, const After& after) {
  vectors::Status status = update.check();
  if (status != vectors::Status::kDone) return status;
  ByteSpan old;
  const auto write = [&](std::span<std::byte> to) {
    status = apply(update, old, to);
    after(ByteSpan(to));
  };
  const Change::Writer writer(write);
  index.modify(me, key, [&](const std::optional<ByteSpan>& now) {
    status = now ? update.check(now->size()) : vectors::Status::kAbsent;
    if (status != vectors::Status::kDone) return Change::leave();
    old = *now;
    before(old);
    return Change::by(old.size(), writer, Mark::kKeep);
  });
  return status;
}

/// Does the same where the vector lies, under the policy's lock (Sized::with_bytes). `after` must not throw. If
/// `before` throws, nothing has changed.
template <class Index, class Before, class After>
[[nodiscard]] vectors::Status update_in_place(Index& index, typename Index::ThreadState& me, typename Index::Raw key,
                                              const vectors::Update& update, const Before& before, const After& after) {
  vectors::Status status = update.check();
  if (status != vectors::Status::kDone) return status;
  std::exception_ptr thrown;
  const bool present = index.with_bytes(me, key, [&](std::span<std::byte> bytes) noexcept {
    status = update.check(bytes.size());
    if (status != vectors::Status::kDone) return;
    try {
      before(ByteSpan(bytes));
    } catch (...) {
      thrown = std::current_exception();
      return;
    }
    status = apply(update, bytes, bytes);
    after(ByteSpan(bytes));
  });
  if (thrown) std::rethrow_exception(thrown);
  return present ? status : vectors::Status::kAbsent;
}

}  // namespace latchlab::sized
