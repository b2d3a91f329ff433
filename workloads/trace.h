#pragma once

// A trace of operations on keys, compact enough to be replayed at the speed of an index. A trace of another format is
// converted once (trace_formats.h). The resulting file is mapped, checked as a whole, and read in place:
//
//     | header, 64 bytes | where each key ends, u64[keys] | the keys' bytes | operations, 16 bytes each |
//                                                           (padded to a multiple of 8)
//
// Numbers are little-endian. Keys are in the order of their first operation, except that loaded keys come first. Those
// are keys that are read, updated or erased before any operation writes them. A replay must load them. The checksum
// covers everything else. An operation has one key, so there are no multi-gets.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/new_file.h"
#include "src/base/types.h"
#include "workloads/op.h"

namespace latchlab {

struct TraceOp {
  u64 time_ns = 0;       ///< since the first operation; always 0 in a trace without times
  u32 key = 0;           ///< number of the key
  u32 value_bytes : 24;  ///< size of the value that was read or written; at most kMostValueBytes
  u32 kind : 8;          ///< the number of an OpKind

  /// Returns true if a trace may hold operations of the kind with this number.
  [[nodiscard]] static constexpr bool may_have(u32 kind) {
    return kind < kOpKinds && static_cast<OpKind>(kind) != OpKind::kMultiGet;
  }
  static constexpr u32 kMostValueBytes = (1u << 24) - 1;
};
static_assert(sizeof(TraceOp) == 16, "a part of the file format");

/// A trace file, mapped as long as this object lives.
class Trace {
 public:
  /// Maps the file and checks all of it: O(bytes). Throws InputError with the file and the place for
  ///   - a file that is missing or damaged, of another kind or version, or of another length than it says,
  ///   - a key that is too long or occurs twice.
  explicit Trace(const std::string& path);
  /// Returns the trace at `path`. Maps each file only once, unless it has changed meanwhile. Any thread.
  [[nodiscard]] static std::shared_ptr<const Trace> at(const std::string& path);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  [[nodiscard]] std::span<const TraceOp> ops() const { return ops_; }
  [[nodiscard]] u64 keys() const { return ends_.size(); }
  /// Returns the number of loaded keys, those that were present before the first operation. They have the smallest
  /// numbers.
  [[nodiscard]] u64 loaded() const { return loaded_; }
  [[nodiscard]] bool has_times() const { return has_times_; }
  /// Returns the number of operations of each kind.
  [[nodiscard]] const std::array<u64, kOpKinds>& counts() const { return counts_; }
  /// The values of known size. An operation with a value of no bytes does not count.
  struct Values {
    u64 count = 0;
    u64 bytes = 0;                        ///< of all of them together
    u32 shortest = ~u32{0}, longest = 0;  ///< bytes
  };
  [[nodiscard]] const Values& values() const { return values_; }
  /// Returns the checksum of everything: the same for the same trace, in any place.
  [[nodiscard]] u64 checksum() const { return checksum_; }

  /// Returns key n < keys(). Valid while this object lives.
  [[nodiscard]] std::string_view key(u64 n) const {
    const u64 begin = n == 0 ? 0 : ends_[n - 1];
    return {bytes_ + begin, static_cast<std::size_t>(ends_[n] - begin)};
  }

 private:
  /// Identifies the contents of a file at some time.
  struct Identity {
    u64 device, inode, size;
    i64 changed_s, changed_ns;
    bool operator==(const Identity&) const = default;
  };
  void look_at(const std::string& path);
  void look_at_keys(const std::string& path, u64 key_bytes) const;
  void look_at_ops(const std::string& path);

  const char* mapped_ = nullptr;
  std::size_t size_ = 0;
  std::span<const u64> ends_;
  const char* bytes_ = nullptr;
  std::span<const TraceOp> ops_;
  u64 loaded_ = 0;
  bool has_times_ = false;
  std::array<u64, kOpKinds> counts_{};
  Values values_;
  u64 checksum_ = 0;
  Identity identity_{};
};

/// Collects a trace in memory and writes it.
class TraceWriter {
 public:
  /// Tells how the writer learns which keys were present before the first operation.
  enum class Loaded : u8 {
    kByOperations,  ///< those that are read, updated or erased before any operation writes them
    kByCaller,      ///< those that load() names
  };

  /// Makes a writer that may take `memory` bytes.
  explicit TraceWriter(u64 memory = ~u64{0}, Loaded loaded = Loaded::kByOperations)
      : memory_(memory), says_loaded_(loaded) {}

  /// Adds a key that was present before the first operation, even if no operation uses it. Must be called before add.
  /// Throws InputError as add does.
  void load(std::string_view key) { (void)number_of(key, true); }

  /// Adds an operation. `time_ns` must not be less than that of the operation before. Throws InputError for a key that
  /// is empty or longer than KeySet::kLongestKey, and for more than 2^32 - 1 keys. Also throws for a time that goes
  /// back, and when memory does not suffice.
  void add(u64 time_ns, std::string_view key, OpKind kind, u64 value_bytes);

  [[nodiscard]] u64 operations() const { return ops_.size(); }

  /// Writes the trace to `file`. Throws InputError if there are no operations. Nothing can be added afterwards.
  void write(NewFile& file, bool has_times);
  /// Writes a whole file or none. Also throws InputError and OutputError as NewFile does.
  void write(const std::string& path, bool has_times);

 private:
  [[nodiscard]] u32 number_of(std::string_view key, bool was_there);
  void check_memory() const;
  void put_loaded_first();

  u64 memory_;
  Loaded says_loaded_;
  u64 bytes_ = 0;  // an upper bound of the memory taken
  std::vector<TraceOp> ops_;
  std::unordered_map<std::string, u32> numbers_;
  std::vector<const std::string*> keys_;  // keys of numbers_, which does not move them
  std::vector<bool> was_there_;           // by key number
};

}  // namespace latchlab
