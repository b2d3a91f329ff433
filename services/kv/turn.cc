#include "services/kv/turn.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include "services/kv/memcached_commands.h"
#include "services/kv/resp_commands.h"
#include "src/wire/memcached_answers.h"
#include "src/wire/numbers.h"

namespace latchlab::kv {

namespace {

/// The bytes of items that the commands of one dialogue move in a turn; one command may exceed it. So a client that
/// touches long values, for a few bytes each, takes no longer turns than one that stores them.
constexpr u64 kMostMoved = u64{1} << 20;
/// What a command counts for, and each key that it looks up or touches: misses, and commands without keys, take time,
/// too.
constexpr u64 kMovedByCommand = 256;
/// The keys of one command that a turn looks up. If it has more, the dialogue holds them.
constexpr std::size_t kMostKeys = 4096;

}  // namespace

void Turn::answer(std::span<Dialogue* const> dialogues, Moment now) {
  now_ = now;
  for (Dialogue* const dialogue : dialogues) {
    dialogue->waits = false;
    dialogue->moved = 0;
  }
  for (bool more = true; more;) {
    more = false;
    for (Dialogue* const dialogue : dialogues) more |= take_or_abandon(*dialogue);
    run_batch();
  }
  stopwatch_.lap<&KvCounters::parse_ns>();
}

bool Turn::take_or_abandon(Dialogue& dialogue) {
  try {
    return take_commands(dialogue);
  } catch (const std::bad_alloc&) {
    // Keys of the lookup that failed are no part of the batch.
    std::size_t whole = 0;
    for (const Lookup& lookup : lookups_) whole += lookup.keys;
    keys_.resize(whole);
    dialogue.abandon();
    return false;
  }
}

bool Turn::take_commands(Dialogue& dialogue) {
  // The bytes of input whose commands are in the batch. They are dropped when the batch is rendered.
  std::size_t ahead = 0;
  for (;;) {
    if (dialogue.closing || dialogue.waits) return false;
    if (dialogue.input().size() <= ahead || (ahead == 0 && dialogue.input().size() < dialogue.needed)) return false;
    if (dialogue.full() || dialogue.moved >= kMostMoved) {
      if (ahead == 0) dialogue.hold_back(dialogue.answered_keys);
      return ahead != 0;
    }
    if (!dialogue.protocol) dialogue.protocol = protocol_of(dialogue.input().front());
    const u64 moved = session_.moved();
    const Taken taken = take_next(dialogue, ahead);
    dialogue.moved +=
        session_.moved() - moved + kMovedByCommand * (taken == Taken::kInBatch ? lookups_.back().keys : 1);
    switch (taken) {
      case Taken::kAnswered: break;
      case Taken::kIncomplete: return false;
      case Taken::kMustWait: return true;
      case Taken::kInBatch:
        ahead += lookups_.back().used;
        if (keys_.size() < server_.options().gather.keys) break;
        run_batch();
        ahead = 0;
    }
  }
}

Turn::Taken Turn::take_next(Dialogue& dialogue, std::size_t ahead) {
  if (dialogue.held) return ahead == 0 ? take_held(dialogue) : Taken::kMustWait;
  switch (*dialogue.protocol) {
    case Protocol::kMemcached: return take_memcached(dialogue, ahead);
    case Protocol::kResp: return take_resp(dialogue, ahead);
    case Protocol::kBinary: break;
  }
  dialogue.out += kBinaryRefused;
  dialogue.closing = true;
  return Taken::kAnswered;
}

Turn::Taken Turn::incomplete(Dialogue& dialogue, const Parsed& parsed, std::size_t ahead) {
  dialogue.needed = ahead == 0 ? parsed.needed : 0;
  return Taken::kIncomplete;
}

Turn::Taken Turn::refused(Dialogue& dialogue, const Parsed& parsed) {
  dialogue.out += parsed.answer;
  dialogue.closing |= parsed.close;
  dialogue.drop(parsed.used, parsed.skip);
  return Taken::kAnswered;
}

Turn::Taken Turn::take_memcached(Dialogue& dialogue, std::size_t ahead) {
  if (command_count_ == commands_.size()) commands_.emplace_back();
  MemcachedCommand& command = commands_[command_count_];
  const Parsed parsed = dialogue.memcached.parse(dialogue.input().substr(ahead), command);
  if (parsed.status == ParseStatus::kNeedsMore) return incomplete(dialogue, parsed, ahead);
  if (parsed.status == ParseStatus::kCommand && dialogue.admitted && is_lookup(command)) {
    const std::size_t first = ahead == 0 ? dialogue.answered_keys : 0;
    if (command.verb == MemcachedVerb::kMetaGet) {
      KeyRoom room;
      const std::string_view text = memcached_key(command, room);
      if (command.has('b')) {
        // The key is in this function's memory. So the lookup is a batch of its own.
        if (ahead != 0) return Taken::kMustWait;
        const Key key = server_.store().key(text);
        session_.find({&key, 1}, now_, kAlone, [&](std::size_t, Store::Items items) {
          append_lookup(dialogue.out, desk(), command, command.key(), items[0]);
        });
        dialogue.drop(parsed.used);
        return Taken::kAnswered;
      }
    }
    if (command.keys.size() > kMostKeys) {
      if (ahead != 0) return Taken::kMustWait;
      hold(dialogue, command.keys.size(), parsed.used, [&](std::size_t i) { return command.keys[i]; });
      dialogue.held->verb = command.verb;
      return take_held(dialogue);
    }
    const std::size_t end = end_of_part(dialogue, first, command.keys.size());
    for (std::size_t i = first; i < end; ++i) keys_.push_back(server_.store().key(command.keys[i]));
    lookups_.push_back({.kind = Lookup::Kind::kMemcached,
                        .dialogue = &dialogue,
                        .command = command_count_++,
                        .first = first,
                        .keys = end - first,
                        .all = command.keys.size(),
                        .used = parsed.used});
    return Taken::kInBatch;
  }
  if (ahead != 0) return Taken::kMustWait;
  if (parsed.status == ParseStatus::kError) {
    if (parsed.too_large && dialogue.admitted) erase_without_room(desk(), command);
    return refused(dialogue, parsed);
  }
  if (command.verb == MemcachedVerb::kQuit) {
    dialogue.closing = true;
  } else if (!dialogue.admitted) {
    authenticate(dialogue, command);
  } else if (is_get_and_touch(command)) {
    if (command.keys.size() > kMostKeys) {
      hold(dialogue, command.keys.size(), parsed.used, [&](std::size_t i) { return command.keys[i]; });
      dialogue.held->verb = command.verb;
      dialogue.held->exptime = command.exptime;
      return take_held(dialogue);
    }
    get_and_touch(dialogue, command, command.keys.size(), parsed.used, [&](std::size_t i) { return command.keys[i]; });
    return Taken::kAnswered;
  } else {
    kv::answer(desk(), command, dialogue.out);
  }
  dialogue.drop(parsed.used);
  return Taken::kAnswered;
}

template <class KeyAt>
void Turn::hold(Dialogue& dialogue, std::size_t keys, std::size_t used, const KeyAt& key) {
  auto held = std::make_unique<HeldKeys>();
  held->used = used;
  held->places.reserve(keys);
  for (std::size_t i = 0; i < keys; ++i) {
    const std::string_view text = key(i);
    held->places.push_back({static_cast<u32>(text.data() - dialogue.input().data()), static_cast<u32>(text.size())});
  }
  dialogue.held = std::move(held);
}

Turn::Taken Turn::take_held(Dialogue& dialogue) {
  const HeldKeys& held = *dialogue.held;
  const auto key = [&](std::size_t i) { return dialogue.input().substr(held.places[i].at, held.places[i].bytes); };
  if (command_count_ == commands_.size()) commands_.emplace_back();
  MemcachedCommand& command = commands_[command_count_];
  command.clear();
  command.verb = held.verb;
  command.exptime = held.exptime;
  if (is_get_and_touch(command)) {
    get_and_touch(dialogue, command, held.places.size(), held.used, key);
    return Taken::kAnswered;
  }
  const std::size_t first = dialogue.answered_keys, end = end_of_part(dialogue, first, held.places.size());
  for (std::size_t i = first; i < end; ++i) keys_.push_back(server_.store().key(key(i)));
  lookups_.push_back({.kind = dialogue.protocol == Protocol::kResp ? Lookup::Kind::kMget : Lookup::Kind::kMemcached,
                      .dialogue = &dialogue,
                      .command = command_count_++,
                      .first = first,
                      .keys = end - first,
                      .all = held.places.size(),
                      .used = held.used});
  return Taken::kInBatch;
}

template <class KeyAt>
void Turn::get_and_touch(Dialogue& dialogue, const MemcachedCommand& command, std::size_t keys, std::size_t used,
                         const KeyAt& key) {
  const u64 moved = session_.moved();
  for (std::size_t i = dialogue.answered_keys; i < keys; ++i) {
    if (dialogue.full() || dialogue.moved + session_.moved() - moved >= kMostMoved) return dialogue.hold_back(i);
    session_.note_moved(kMovedByCommand);
    if (append_touched(dialogue.out, desk(), command, key(i))) continue;
    dialogue.answered_keys = 0;
    return dialogue.drop(used);
  }
  append_lookup_end(dialogue.out, command);
  dialogue.answered_keys = 0;
  dialogue.drop(used);
}

void Turn::authenticate(Dialogue& dialogue, const MemcachedCommand& command) {
  if (command.verb != MemcachedVerb::kSet) return append_client_error(dialogue.out, "unauthenticated");
  counts_.add<&KvCounters::auth_cmds>();
  const std::size_t blank = command.value.find(' ');
  const std::string_view name = command.value.substr(0, blank);
  const std::string_view password = blank == command.value.npos ? "" : command.value.substr(blank + 1);
  if (server_.options().secrets->admit(name, password)) {
    dialogue.admit();
    return append_status(dialogue.out, MemcachedStatus::kStored);
  }
  counts_.add<&KvCounters::auth_errors>();
  append_client_error(dialogue.out, "authentication failure");
}

Turn::Taken Turn::take_resp(Dialogue& dialogue, std::size_t ahead) {
  const std::string_view input = dialogue.input().substr(ahead);
  const Parsed parsed = dialogue.resp.parse(input, resp_);
  if (parsed.status == ParseStatus::kNeedsMore) return incomplete(dialogue, parsed, ahead);
  if (parsed.status == ParseStatus::kCommand && dialogue.admitted && is_lookup(resp_)) {
    // The words of an inline command with quotes are in the command itself, which the next one overwrites.
    const bool in_input = resp_[0].data() >= input.data() && resp_[0].data() < input.data() + input.size();
    if (!in_input && ahead != 0) return Taken::kMustWait;
    const std::size_t first = ahead == 0 ? dialogue.answered_keys : 0;
    if (in_input && resp_.size() - 1 > kMostKeys) {
      if (ahead != 0) return Taken::kMustWait;
      hold(dialogue, resp_.size() - 1, parsed.used, [&](std::size_t i) { return resp_[i + 1]; });
      return take_held(dialogue);
    }
    const std::size_t end = end_of_part(dialogue, first, resp_.size() - 1);
    for (std::size_t i = first; i < end; ++i) keys_.push_back(server_.store().key(resp_[i + 1]));
    lookups_.push_back({.kind = is_mget(resp_) ? Lookup::Kind::kMget : Lookup::Kind::kGet,
                        .dialogue = &dialogue,
                        .command = 0,
                        .first = first,
                        .keys = end - first,
                        .all = resp_.size() - 1,
                        .used = parsed.used});
    if (in_input) return Taken::kInBatch;
    run_batch();
    return Taken::kAnswered;
  }
  if (ahead != 0) return Taken::kMustWait;
  if (parsed.status == ParseStatus::kError) return refused(dialogue, parsed);
  if (resp_.size() != 0) kv::answer(desk(), resp_, dialogue);
  dialogue.drop(parsed.used);
  return Taken::kAnswered;
}

/// Returns the end of the keys, from `first` to `all`, that go into the batch: kMostKeys at most. If the last turn
/// could answer only a part, since the answers were too long, the others wait: each turn looks up about twice as many
/// as the last one has answered.
std::size_t Turn::end_of_part(const Dialogue& dialogue, std::size_t first, std::size_t all) {
  constexpr std::size_t kFewest = 16;
  const std::size_t most = first == 0 ? kMostKeys : std::min(kMostKeys, 2 * dialogue.answered_last + kFewest);
  return std::min(all, first + most);
}

void Turn::hold_back(Dialogue& dialogue, const Lookup& lookup) {
  dialogue.answered_last = dialogue.answered_keys - lookup.first;
  dialogue.hold_back(dialogue.answered_keys);
}

void Turn::append_item(const Lookup& lookup, std::size_t key, const std::optional<Item>& item) {
  Dialogue& dialogue = *lookup.dialogue;
  if (lookup.kind == Lookup::Kind::kMemcached) {
    return append_lookup(dialogue.out, desk(), commands_[lookup.command], keys_[key].text, item);
  }
  append_lookup(dialogue, desk(), item);
}

void Turn::count_batch() {
  counts_.add<&KvCounters::batched_keys>(keys_.size());
  if (server_.options().gather.keys == 1) {
    counts_.add<&KvCounters::batches>(keys_.size());
    counts_.add<&KvCounters::batches_from_1>(keys_.size());
    return;
  }
  counts_.add<&KvCounters::batches>();
  const auto size = static_cast<std::size_t>(std::bit_width(keys_.size()));
  counts_.add_after<&KvCounters::batches_from_1>(std::clamp<std::size_t>(size, 1, kBatchSizes) - 1);
}

template <class Visit>
void Turn::look_up(const Visit& visit) {
  const std::optional<Batching>& asked = server_.options().batch;
  if (keys_.size() == 1 || server_.options().gather.keys == 1) return session_.find(keys_, now_, kAlone, visit);
  if (asked) return session_.find(keys_, now_, *asked, visit);
  const auto clock = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  (void)faster_.run([&] { return static_cast<u64>(clock()); },
                    [&](u32 way) {
                      session_.find(keys_, now_, way == 0 ? kTogether : kAlone, visit);
                      return static_cast<u32>(keys_.size());
                    });
}

void Turn::run_batch() {
  if (lookups_.empty()) return;
  count_batch();
  stopwatch_.note_keys(keys_.size());
  stopwatch_.lap<&KvCounters::parse_ns>();
  std::size_t at = 0, of_lookup = 0;  // the lookup that is rendered, and its next key
  look_up([&](std::size_t first, Store::Items items) {
    stopwatch_.lap<&KvCounters::lookup_ns>();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Lookup& lookup = lookups_[at];
      Dialogue& dialogue = *lookup.dialogue;
      if (!dialogue.waits && dialogue.full()) hold_back(dialogue, lookup);
      if (!dialogue.waits) try {
          if (lookup.kind == Lookup::Kind::kMget && dialogue.answered_keys == 0) append_mget_head(dialogue, lookup.all);
          append_item(lookup, first + i, items[i]);
          ++dialogue.answered_keys;
        } catch (const std::bad_alloc&) {
          dialogue.abandon();
        }
      if (++of_lookup < lookup.keys) continue;
      of_lookup = 0;
      ++at;
      if (!dialogue.waits && !lookup.whole()) hold_back(dialogue, lookup);
      if (dialogue.waits) continue;
      if (lookup.kind == Lookup::Kind::kMemcached) append_lookup_end(dialogue.out, commands_[lookup.command]);
      dialogue.answered_keys = 0;
      dialogue.drop(lookup.used);
    }
    stopwatch_.lap<&KvCounters::render_ns>();
  });
  stopwatch_.lap<&KvCounters::lookup_ns>();
  keys_.clear();
  lookups_.clear();
  command_count_ = 0;
}

}  // namespace latchlab::kv
