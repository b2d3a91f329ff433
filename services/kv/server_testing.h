#pragma once

// A server as tests play it: without sockets, threads and clocks. The test says what time it is.
//
//     Played served;                          a store, a server, the session and the turn of one loop
//     Conversation client(served);            a connection
//     client.say("get a\r\n") == "END\r\n"    bytes in, and all answers to them
//     served.pass(10'000);                    ten seconds later

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "indexes/cuckoo/cuckoo.h"
#include "services/kv/dialogue.h"
#include "services/kv/server.h"
#include "services/kv/store.h"
#include "services/kv/store_of.h"
#include "services/kv/turn.h"
#include "src/base/key.h"
#include "src/base/types.h"
#include "src/machine/native.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::kv::testing {

/// The store over an index under olc.
template <template <class, class> class Index>
using StoreOver = StoreOf<Synchronized<Index, Olc<Native>, U64Key>>;

inline constexpr u64 kHashSeed = 42;

/// The time at which tests begin.
inline constexpr i64 kStartSeconds = 1'700'000'000;

/// Returns the moment so many milliseconds after the start.
inline Moment after(i64 ms) { return {.ms = kStartSeconds * 1000 + ms, .second = static_cast<u32>(ms / 1000) + 1}; }

/// A server with one loop, over a store of its own.
class Played {
 public:
  explicit Played(const ServerOptions& options = {})
      : Played(options, std::make_unique<StoreOver<Cuckoo>>(options.store, kHashSeed)) {}
  Played(const ServerOptions& options, std::unique_ptr<Store> store)
      : server_(options, std::move(store), after(0)),
        session_(server_.store().join()),
        counts_(server_.add_counts()),
        turn_(server_, *session_, counts_) {}

  Server& server() { return server_; }
  Turn& turn() { return turn_; }
  Store& store() { return server_.store(); }
  Store::Session& session() { return *session_; }
  [[nodiscard]] Moment now() const { return now_; }
  [[nodiscard]] Desk desk() const { return {server_, *session_, counts_, now_}; }
  [[nodiscard]] KvCounters counters() const { return server_.counters(); }
  /// Lets time pass.
  void pass(i64 ms) { now_ = after(passed_ += ms); }
  /// Answers what the dialogues have been asked, as far as their output has room.
  void answer(std::span<Dialogue* const> dialogues) { turn_.answer(dialogues, now_); }

 private:
  Server server_;
  std::unique_ptr<Store::Session> session_;
  KvCounts& counts_;
  Turn turn_;
  i64 passed_ = 0;
  Moment now_ = after(0);
};

/// The way from a dialogue to its client, as a network plays it: it takes the whole output, and sends it in pieces.
class Way {
 public:
  explicit Way(Dialogue& dialogue) : dialogue_(dialogue) {}
  /// Sends up to `most` bytes, and returns them.
  std::string send(std::size_t most) {
    std::string sent;
    while (sent.size() < most && dialogue_.unsent() != 0) {
      if (!dialogue_.sending()) {
        dialogue_.begin_sending();
        bytes_ = std::exchange(dialogue_.out, {});
        sent_ = 0;
      }
      const std::string_view piece = std::string_view(bytes_).substr(sent_, most - sent.size());
      sent += piece;
      sent_ += piece.size();
      dialogue_.sent(piece.size(), bytes_);
    }
    return sent;
  }

 private:
  Dialogue& dialogue_;
  std::string bytes_;
  std::size_t sent_ = 0;
};

/// A connection to a server that is played. It ends before the server does.
class Conversation {
 public:
  explicit Conversation(Played& served)
      : served_(served),
        dialogue_(served.server().next_id(), served.server().options().limits,
                  !served.server().options().secrets.has_value()) {}

  Dialogue& dialogue() { return dialogue_; }
  Way& way() { return way_; }
  /// Sends bytes, and returns all that the server says then.
  std::string say(std::string_view bytes) {
    dialogue_.receive(bytes);
    return hear();
  }
  /// Takes answers until the server has no more.
  std::string hear() {
    std::string answers;
    Dialogue* const all[] = {&dialogue_};
    do {
      served_.answer(all);
      answers += way_.send(dialogue_.unsent());
    } while (dialogue_.waits);
    return answers;
  }
  [[nodiscard]] bool closed() const { return dialogue_.over(); }

 private:
  Played& served_;
  Dialogue dialogue_;
  Way way_{dialogue_};
};

}  // namespace latchlab::kv::testing
