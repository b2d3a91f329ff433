#pragma once

// Mailboxes: connections between processes of one machine, in a shared file of memory. A box is a connection. It has a
// ring of bytes in each direction, and moving bytes needs no call of the kernel:
//
//     client    | write to the ring | ring the bell if the other side sleeps | ... look ... read
//     server    | look ... look ... | read, answer, write to the other ring  | ring the bell ...
//
//     state of a box   free -> asking -> open -> left (by the client)   -> free, by the server
//                                              -> ended (by the server) -> free, by the client or, if that died, the
//                                              server
//
// Who waits looks for a while, then yields, then sleeps in the kernel, on a futex of the side that waits: its bell.
// Each side keeps its own positions, and checks those of the other side, which may be wrong or malicious.
//
// A server holds a lock on the file, which the kernel takes from it when it dies, however it dies. So a client, and the
// next server, know whether it lives. The server knows a client by the number of its process, so both share a namespace
// of processes.

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/types.h"
#include "src/wire/file.h"

namespace latchlab::mailboxes {

inline constexpr std::size_t kRingBytes = std::size_t{1} << 17;
inline constexpr u32 kBoxes = 64;  ///< of each loop
inline constexpr u32 kMostLoops = 64;

/// Wakes one side.
class Bell {
 public:
  /// Wakes the side if it sleeps. What the caller stored before is seen by the side that wakes, or does not fall
  /// asleep.
  void ring();
  /// Sleeps until the bell rings or `most_ms` are over, unless awake() says that there is something to do.
  template <class Awake>
  void sleep(u32 most_ms, const Awake& awake) {
    const u32 seen = rings_.load(kRelaxed);
    sleeps_.store(1, kRelaxed);
    // Pairs with the fence in ring(): either that sees sleeps_, or this one what was stored before it.
    std::atomic_thread_fence(kSeqCst);
    if (!awake()) wait(seen, most_ms);
    sleeps_.store(0, kRelaxed);
  }

 private:
  void wait(u32 seen, u32 most_ms);

  alignas(kFalseSharingBytes) std::atomic<u32> rings_;
  std::atomic<u32> sleeps_;
};

/// The bytes of one direction.
struct Ring {
  alignas(kFalseSharingBytes) std::atomic<u64> written;  ///< bytes in all, by the writer
  alignas(kFalseSharingBytes) std::atomic<u64> read;     ///< by the reader
  alignas(kFalseSharingBytes) std::array<char, kRingBytes> bytes;
};

/// The writer of a ring.
class Writer {
 public:
  Writer() = default;
  explicit Writer(Ring& ring) : ring_(&ring) {}
  /// Writes as many of the bytes as there is room for, and returns their number; nothing if the other side's position
  /// is wrong. Never waits.
  std::optional<std::size_t> write(std::string_view bytes);
  /// Returns true if there is room, or the other side's position is wrong.
  [[nodiscard]] bool has_room() const;

 private:
  Ring* ring_ = nullptr;
  u64 written_ = 0;
};

/// The reader of a ring.
class Reader {
 public:
  Reader() = default;
  explicit Reader(Ring& ring) : ring_(&ring) {}
  /// Returns a part of the bytes that were not read yet, empty if there are none; nothing if the other side's position
  /// is wrong. The other side may change them at any time, if it is malicious.
  [[nodiscard]] std::optional<std::string_view> look() const;
  /// Gives the room of so many bytes back.
  void drop(std::size_t bytes);
  [[nodiscard]] bool has_bytes() const;

 private:
  Ring* ring_ = nullptr;
  u64 read_ = 0;
};

enum class State : u32 { kFree, kAsking, kOpen, kLeft, kEnded };

struct Box {
  /// State and, unless it is free, the number of the client's process.
  alignas(kFalseSharingBytes) std::atomic<u64> state;
  Bell client;
  Ring to_server, to_client;

  [[nodiscard]] static u64 pack(State state, u32 process) { return u64{process} << 32 | static_cast<u32>(state); }
  [[nodiscard]] static State state_of(u64 packed) { return static_cast<State>(static_cast<u32>(packed)); }
  [[nodiscard]] static u32 process_of(u64 packed) { return static_cast<u32>(packed >> 32); }
  /// Empties both rings and frees the box. Only the last side that has it may call it.
  void free();
};

/// The file as both sides map it.
struct Layout {
  static constexpr u64 kMagic = 0x3230736278'6f626cull;

  std::atomic<u64> magic;  ///< stored last by the server
  u32 loops;
  std::array<Bell, kMostLoops> bells;

  [[nodiscard]] Box& box(u32 number) { return reinterpret_cast<Box*>(this + 1)[number]; }
  [[nodiscard]] static std::size_t bytes(u32 loops) {
    return sizeof(Layout) + std::size_t{loops} * kBoxes * sizeof(Box);
  }
};

/// Returns true if there is such a process.
[[nodiscard]] bool lives(u32 process);

/// A mapping of the file, which ends with it.
class Mapping {
 public:
  /// Makes the file, which no other user may open, and removes one that an ended server has left. Until its end the
  /// mapping is that of a server that lives. Throws InputError if a server uses the path, or if the kernel refuses.
  static Mapping made_at(const std::string& path, u32 loops);
  /// Maps the file of a server. Throws ConnectionLost if there is none.
  static Mapping of(const std::string& path);

  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  [[nodiscard]] Layout& layout() const { return *layout_; }
  /// Tells a client whether its server lives.
  [[nodiscard]] bool server_lives() const;

 private:
  Mapping(Layout* layout, std::size_t bytes, File file) : layout_(layout), bytes_(bytes), file_(std::move(file)) {}

  Layout* layout_;
  std::size_t bytes_;
  File file_;  // the server's has the lock
};

}  // namespace latchlab::mailboxes
