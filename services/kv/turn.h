#pragma once

// A turn: the answers to all that a loop's connections have asked.
//
//     dialogue A   get a b | get c | set d | get d
//     dialogue B   get e f
//     dialogue C   set g | get g
//
//     round 1      C's set is done at once, since nothing of C waits; then one batch looks up a b c, e f, g
//     round 2      A's set; then a batch of d
//
// The answers of a dialogue have the order of its commands, and each command sees those before it. Commands of
// different dialogues have no order, so lookups of all can be one batch. A change waits only if lookups of the same
// dialogue do: then it ends the dialogue's part of the round.
//
// A lookup of many keys is answered in parts, a turn each. The dialogue keeps its keys meanwhile, if they are very
// many, so that the command is parsed once.
//
// A batch is rendered straight from the items, inside the epoch of their lookup, into the dialogues' output. So a value
// is copied once. A dialogue whose output is full, or whose commands have moved many bytes, keeps the rest of its
// commands for a later turn.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "services/kv/dialogue.h"
#include "services/kv/server.h"
#include "services/kv/stopwatch.h"
#include "src/base/faster_way.h"
#include "src/wire/memcached.h"
#include "src/wire/parsed.h"
#include "src/wire/resp.h"

namespace latchlab::kv {

class Turn {
 public:
  Turn(Server& server, Store::Session& session, KvCounts& counts)
      : server_(server), session_(session), counts_(counts), stopwatch_(counts) {}

  /// The watch of the loop's turns. Without its `begin` nothing is timed.
  Stopwatch& stopwatch() { return stopwatch_; }

  /// Answers the whole commands in the dialogues' input, as far as their output has room, and as they do not move too
  /// much. A dialogue must not be there twice. A dialogue that memory outside the store is lacking for is abandoned.
  void answer(std::span<Dialogue* const> dialogues, Moment now);

 private:
  /// A lookup of a batch.
  struct Lookup {
    enum class Kind : u8 { kMemcached, kGet, kMget };
    Kind kind;
    Dialogue* dialogue;
    std::size_t command;  ///< kMemcached: its place in commands_
    std::size_t first;    ///< key that is in the batch: those before it are answered
    std::size_t keys;     ///< that are in the batch
    std::size_t all;      ///< keys of the command
    std::size_t used;     ///< bytes of input

    [[nodiscard]] bool whole() const { return first + keys == all; }
  };
  /// The outcome of a look at the next command of a dialogue.
  enum class Taken : u8 {
    kAnswered,    ///< it is answered, and dropped
    kInBatch,     ///< it is a lookup, which is now in the batch
    kIncomplete,  ///< it has not come whole
    kMustWait,    ///< the dialogue has lookups in the batch, and these come first
  };

  /// Answers changes and collects lookups, up to the first command that must wait. Returns true if there is one.
  bool take_or_abandon(Dialogue& dialogue);
  bool take_commands(Dialogue& dialogue);
  Taken take_next(Dialogue& dialogue, std::size_t ahead);
  Taken take_memcached(Dialogue& dialogue, std::size_t ahead);
  Taken take_resp(Dialogue& dialogue, std::size_t ahead);
  /// Takes a part of the keys that the dialogue holds.
  Taken take_held(Dialogue& dialogue);
  /// Has the dialogue hold the keys of the command at the front of its input, which lie there. `key` is a function of a
  /// key's number.
  template <class KeyAt>
  static void hold(Dialogue& dialogue, std::size_t keys, std::size_t used, const KeyAt& key);
  /// Answers gat or gats, from the first key on that has no answer. Drops the command if none is left for a later turn.
  template <class KeyAt>
  void get_and_touch(Dialogue& dialogue, const MemcachedCommand& command, std::size_t keys, std::size_t used,
                     const KeyAt& key);
  void authenticate(Dialogue& dialogue, const MemcachedCommand& command);
  /// Notes that a command is incomplete, and from which size on it may be whole.
  static Taken incomplete(Dialogue& dialogue, const Parsed& parsed, std::size_t ahead);
  static Taken refused(Dialogue& dialogue, const Parsed& parsed);

  /// Looks up the keys of the batch, and renders them.
  void run_batch();
  void count_batch();
  /// Looks up, in the way that the options say or that was faster lately, and calls visit(first, items).
  template <class Visit>
  void look_up(const Visit& visit);
  [[nodiscard]] static std::size_t end_of_part(const Dialogue& dialogue, std::size_t first, std::size_t all);
  static void hold_back(Dialogue& dialogue, const Lookup& lookup);
  void append_item(const Lookup& lookup, std::size_t key, const std::optional<Item>& item);

  [[nodiscard]] Desk desk() const { return {server_, session_, counts_, now_}; }

  Server& server_;
  Store::Session& session_;
  KvCounts& counts_;
  Moment now_;
  std::vector<Key> keys_;
  std::vector<Lookup> lookups_;
  std::vector<MemcachedCommand> commands_;  // the first command_count_ belong to lookups_
  std::size_t command_count_ = 0;
  RespCommand resp_;
  Stopwatch stopwatch_;
  FasterWay faster_;  // 0: side by side, 1: one by one
};

}  // namespace latchlab::kv
