#pragma once
// Operations on values that are vectors: arrays of i32, u32, i64, u64, f32 or f64 (src/vector/element.h).
//
//     latchlab::Map<std::uint64_t, std::vector<float>> rows;
//     rows.update_vector(7, {UpdateFunction::kSub, std::span<const float>(gradients)});
//     rows.reduce_vector<float>(7, Reduction::kSum).number.as<double>();
//
// The value is a std::vector of such a type, a std::vector<std::byte> or a std::string. An operation says the type of
// the elements; its bytes are taken as such. Each operation is atomic over its value: no thread sees a part of an
// update. All functions are those of src/vector (update.h, reduce.h, filter.h), run where the values lie.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "library/keys.h"
#include "src/base/types.h"
#include "src/memory/values.h"
#include "src/vector/element.h"
#include "src/vector/filter.h"
#include "src/vector/reduce.h"
#include "src/vector/update.h"

namespace latchlab {

using VectorUpdate = vectors::Update;
using VectorStatus = vectors::Status;
using VectorComparison = vectors::Comparison;
using vectors::Reduction;
using vectors::UpdateFunction;

/// A vector as callers of a map pass and see it: a view of elements at any address.
template <vectors::ElementType T>
class VectorView {
 public:
  VectorView(std::span<const T> elements) : bytes_(std::as_bytes(elements)) {}  // NOLINT: callers pass spans
  VectorView(const std::vector<T>& elements) : VectorView(std::span<const T>(elements)) {}  // NOLINT: and vectors
  /// Views the elements that these bytes are: a whole number of them.
  explicit VectorView(ByteSpan bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size() / sizeof(T); }
  T operator[](std::size_t i) const { return vectors::load<T>(bytes_.data() + i * sizeof(T)); }
  ByteSpan bytes() const { return bytes_; }
  std::vector<T> copy() const {
    std::vector<T> elements(size());
    if (!elements.empty()) std::memcpy(elements.data(), bytes_.data(), bytes_.size());
    return elements;
  }

 private:
  ByteSpan bytes_;
};

/// The value that an update of a vector returns.
enum class Fetch : u8 { kOld, kNew };

/// A vector, if `status` is kDone.
template <class Value>
struct FetchedVector {
  VectorStatus status;
  Value value{};
};

/// The elements that match a filter, if `status` is kDone.
template <class Matches>
struct FilteredVector {
  VectorStatus status;
  Matches matches{};      ///< the elements, or their bitmap
  std::size_t count = 0;  ///< of the elements that match
};

/// The operations on vectors of a map with this index; a base of Operations.
template <class Caller, class Index, class Key, class Kind>
class VectorOperations {
  using Forms = KeyForms<Key>;

 public:
  /// True if the values of the map can be vectors.
  static constexpr bool kHoldsVectors = Kind::kHoldsVectors;

  /// Changes every element of the key's vector by the update, in one step. Returns kDone, or why nothing was done:
  /// kAbsent, or what Update::check says of the value's size. O(size); the new vector is written once, where it shall
  /// lie.
  VectorStatus update_vector(typename Forms::View key, const VectorUpdate& update)
    requires(kHoldsVectors)
  {
    constexpr auto nothing = [](ByteSpan) {};
    return Kind::update_vector(index(), member().me, Forms::raw(key), update, nothing, nothing);
  }
  /// Sets statuses[i] to what update_vector(keys[i], updates[i]) returns, one after the other. The cache misses of some
  /// keys, and of the beginnings of their vectors, overlap before them. If an operation throws, the earlier ones stay
  /// done. All spans have an element for each key.
  void update_vector_batch(std::span<const typename Forms::View> keys, std::span<const VectorUpdate> updates,
                           std::span<VectorStatus> statuses)
    requires(kHoldsVectors)
  {
    constexpr std::size_t kGroup = 16;  // their beginnings leave half of a first-level cache free
    for (std::size_t first = 0; first < keys.size(); first += kGroup) {
      const std::size_t count = std::min(kGroup, keys.size() - first);
      std::array<typename Forms::Raw, kGroup> raws;
      for (std::size_t i = 0; i < count; ++i) raws[i] = Forms::raw(keys[first + i]);
      Kind::prefetch(index(), member().me, std::span<const typename Forms::Raw>(raws).first(count));
      for (std::size_t i = first; i < first + count; ++i) statuses[i] = update_vector(keys[i], updates[i]);
    }
  }
  /// Does what update_vector does, and returns a copy of the vector before or after.
  [[nodiscard]] FetchedVector<typename Kind::Value> fetch_update_vector(typename Forms::View key,
                                                                        const VectorUpdate& update, Fetch which)
    requires(kHoldsVectors)
  {
    FetchedVector<typename Kind::Value> fetched;
    const auto keep_if = [&](Fetch wanted) {
      return [&fetched, keeps = which == wanted](ByteSpan bytes) {
        if (keeps) fetched.value = Kind::copy(bytes);
      };
    };
    fetched.status =
        Kind::update_vector(index(), member().me, Forms::raw(key), update, keep_if(Fetch::kOld), keep_if(Fetch::kNew));
    return fetched;
  }
  /// Returns one number of the key's vector, whose elements are of type T.
  template <vectors::ElementType T>
  [[nodiscard]] vectors::Reduced reduce_vector(typename Forms::View key, Reduction reduction) const
    requires(kHoldsVectors)
  {
    vectors::Reduced reduced{VectorStatus::kAbsent, {}};
    Kind::read(index(), member().me, Forms::raw(key),
               [&](ByteSpan value) { reduced = vectors::reduce(vectors::kElementOf<T>, reduction, value); });
    return reduced;
  }
  /// Returns the elements of the key's vector that compare with the operand, in their order. O(size).
  template <vectors::ElementType T>
  [[nodiscard]] FilteredVector<std::vector<T>> filter_vector(typename Forms::View key, VectorComparison comparison,
                                                             std::type_identity_t<T> operand) const
    requires(kHoldsVectors)
  {
    FilteredVector<std::vector<T>> filtered{VectorStatus::kAbsent};
    Kind::read(index(), member().me, Forms::raw(key), [&](ByteSpan value) {
      filtered.matches.resize(value.size() / sizeof(T));
      const auto [status, count] = vectors::filter_matches({comparison, vectors::Number(operand)}, value,
                                                           std::as_writable_bytes(std::span(filtered.matches)));
      filtered.matches.resize(count);
      filtered.status = status;
      filtered.count = count;
    });
    return filtered;
  }
  /// Returns a bit for each element of the key's vector: bit i % 8 of byte i / 8 says whether element i compares so.
  template <vectors::ElementType T>
  [[nodiscard]] FilteredVector<std::vector<std::byte>> filter_bitmap(typename Forms::View key,
                                                                     VectorComparison comparison,
                                                                     std::type_identity_t<T> operand) const
    requires(kHoldsVectors)
  {
    FilteredVector<std::vector<std::byte>> filtered{VectorStatus::kAbsent};
    Kind::read(index(), member().me, Forms::raw(key), [&](ByteSpan value) {
      filtered.matches.resize(vectors::bitmap_bytes(vectors::kElementOf<T>, value.size()));
      const auto [status, count] =
          vectors::filter_bitmap({comparison, vectors::Number(operand)}, value, filtered.matches);
      filtered.status = status;
      filtered.count = count;
    });
    return filtered;
  }

 private:
  auto& index() const { return static_cast<const Caller&>(*this).index(); }
  auto& member() const { return static_cast<const Caller&>(*this).member(); }
};

}  // namespace latchlab
