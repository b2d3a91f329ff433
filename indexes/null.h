#pragma once
// `null`: an index that keeps nothing. Its speed is the harness's own cost: the time that remains when a lookup is
// free.
//
// A find finds nothing, and a change changes nothing whatever it answers. The index counts as ordered, since an empty
// index is in order. There is nothing to validate (kKeeps).
#include <cstddef>
#include <string_view>

#include "src/base/types.h"
#include "sync/attempt.h"

namespace latchlab {

template <class Layout, class KeyType>
class Null {
 public:
  using Key = KeyType;
  static constexpr std::string_view kName = "null";
  static constexpr bool kOrdered = true;
  static constexpr bool kKeeps = false;

  /// The result of one step of a scan: nothing.
  class Batch {
   public:
    explicit Batch(std::size_t) {}
    bool empty() const { return true; }
    bool too_small() const { return false; }
    void enlarge() {}
    Key keep_last() { return Key(); }
    template <class F>
    void for_each(F&&) const {}
  };

  Null() = default;
  Null(const Null&) = delete;
  Null& operator=(const Null&) = delete;

  static std::size_t extra_bytes(const Key&) { return 0; }

  template <class Tx>
  Attempt<Found> find_in(Tx&, const Key&) const {
    return Found();
  }
  template <class Tx>
  Attempt<bool> put_in(Tx&, const Key&, const auto value, Put) {
    value.change(Nowhere());
    return true;
  }
  template <class Tx>
  Attempt<bool> erase_in(Tx&, const Key&, const auto wanted) {
    return wanted.fits(Nowhere());
  }

  template <class Tx>
  void prefetch_in(Tx&, const Key&, Hint) const {}

  template <class Tx>
  Attempt<bool> gather_in(Tx&, const Key&, bool, std::size_t, Batch&) const {
    return true;
  }
  static Key first_key() { return Key(); }

  /// Does nothing: there is nothing to free.
  template <class Pool>
  void free_all(Pool&) {}

 private:
  /// The cell of a value that is not kept.
  struct Nowhere {
    u64 load() const { return 0; }
    void store(u64) const {}
  };
};

}  // namespace latchlab
