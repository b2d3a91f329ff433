#pragma once

// A trace of operations on keys, compact enough to be replayed at the speed of an index. What is recorded elsewhere is
// converted once (trace_formats.h); the file is then mapped, checked as a whole, and read in place:
//
//     | header, 64 bytes | where each key ends, u64[keys] | the keys' bytes | operations, 16 bytes each |
//                                                           (filled up to a multiple of 8)
//
// Numbers are little-endian. Keys are in the order of their first operation, but those that were there before come
// first: the keys that are read, updated or erased before anybody writes them. They are what a replay loads. The
// checksum is of everything else.

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
  u64 time_ns = 0;       ///< since the first operation; 0 of all in a trace without times
  u32 key = 0;           ///< its number
  u32 value_bytes : 24;  ///< of what was read or written; cut off at kMostValueBytes
  u32 kind : 8;          ///< an OpKind below kKinds

  static constexpr u32 kKinds = static_cast<u32>(OpKind::kMultiGet);  ///< an operation of a trace has one key
  static constexpr u32 kMostValueBytes = (1u << 24) - 1;
};
static_assert(sizeof(TraceOp) == 16, "a part of the file format");

/// A trace file, mapped while this lives.
class Trace {
 public:
  /// Maps the file and looks at all of it: O(bytes). Throws InputError with the file and the place for one that is
  /// missing, of another kind or version, shorter or longer than it says, not what was written, or with keys that are
  /// too long or twice there.
  explicit Trace(const std::string& path);
  /// The same, once for a file however often somebody asks, unless the file is another meanwhile. Any thread.
  [[nodiscard]] static std::shared_ptr<const Trace> at(const std::string& path);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  [[nodiscard]] std::span<const TraceOp> ops() const { return ops_; }
  [[nodiscard]] u64 keys() const { return ends_.size(); }
  /// How many keys were there before the first operation: those with the smallest numbers.
  [[nodiscard]] u64 loaded() const { return loaded_; }
  [[nodiscard]] bool has_times() const { return has_times_; }
  /// Operations of each kind.
  [[nodiscard]] const std::array<u64, kOpKinds>& counts() const { return counts_; }
  /// The values that operations say the size of: one of no bytes says nothing.
  struct Values {
    u64 count = 0;
    u64 bytes = 0;                        ///< together
    u32 shortest = ~u32{0}, longest = 0;  ///< bytes
  };
  [[nodiscard]] const Values& values() const { return values_; }
  /// Of everything: the same for the same trace, wherever it is.
  [[nodiscard]] u64 checksum() const { return checksum_; }

  /// n < keys(). Valid while this lives.
  [[nodiscard]] std::string_view key(u64 n) const {
    const u64 begin = n == 0 ? 0 : ends_[n - 1];
    return {bytes_ + begin, static_cast<std::size_t>(ends_[n] - begin)};
  }

 private:
  /// Of a file at a time.
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
  /// Who says which keys were there before the first operation.
  enum class Loaded : u8 {
    kByOperations,  ///< those that are read, updated or erased before anybody writes them
    kByCaller,      ///< load() does
  };

  /// `memory`: bytes that there are for it.
  explicit TraceWriter(u64 memory = ~u64{0}, Loaded loaded = Loaded::kByOperations)
      : memory_(memory), says_loaded_(loaded) {}

  /// Adds a key that was there before, whether any operation is on it or none, while there is no operation. Throws
  /// InputError as add does.
  void load(std::string_view key) { (void)number_of(key, true); }

  /// `time_ns`: not before the last one's. Throws InputError for a key that is empty or longer than
  /// KeySet::kLongestKey, for more than 2^32 - 1 keys, for a time that goes back, and where memory would not do.
  void add(u64 time_ns, std::string_view key, OpKind kind, u64 value_bytes);

  [[nodiscard]] u64 operations() const { return ops_.size(); }

  /// Throws InputError for no operations. Nothing can be added any more.
  void write(NewFile& file, bool has_times);
  /// To a whole file or none. Throws InputError and OutputError as NewFile does, too.
  void write(const std::string& path, bool has_times);

 private:
  [[nodiscard]] u32 number_of(std::string_view key, bool was_there);
  void check_memory() const;
  void put_loaded_first();

  u64 memory_;
  Loaded says_loaded_;
  u64 bytes_ = 0;  // taken, at the most
  std::vector<TraceOp> ops_;
  std::unordered_map<std::string, u32> numbers_;
  std::vector<const std::string*> keys_;  // of numbers_, which does not move them
  std::vector<bool> was_there_;           // by key
};

}  // namespace latchlab
