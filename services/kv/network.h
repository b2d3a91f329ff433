#pragma once

// The network of one loop: it brings what clients send, and takes what they are sent.
//
//     loop                                   network
//      | wait ------------------------------->| waits until something has happened
//      | report ----------------------------->| says what, of any number of connections
//      |<---- accepted, received, ended, sent-|
//      | answers all of them in one turn      |
//      | send(place, bytes) ----------------->| at most one buffer of a connection
//      |<-------- sent(place, n, bytes) ------| progress; the buffer comes back when all of it is sent
//      | close(place) ----------------------->| the place may be given to another connection
//
//   1. A connection has a place, a small number that the network chooses. The loop keeps dialogues by it.
//   2. Nothing blocks but `wait`. A send that cannot be done at once goes on beside later turns.
//   3. Bytes that come are seen in place: the view holds during `received` alone. Bytes that go are not copied either:
//      the network takes the buffer itself, and keeps it until nothing reads it any more, even after `close`.
//   4. A network calls the observer from within `report` alone. Within one report it says nothing of a place after
//      `failed`, and never anything of a place that is closed.
//   5. Memory is bounded: a network keeps no more input than one report brings, and one buffer of a connection.

#include <cstddef>
#include <string>
#include <string_view>

#include "src/base/types.h"

namespace latchlab::kv {

class Network {
 public:
  /// The number of an open connection. Numbers are small, and used again.
  using Place = u32;

  /// The loop, as the network sees it.
  class Observer {
   public:
    /// A client has come. Returns nothing if it may stay. Otherwise the network says these words, which live as long as
    /// the program, closes the connection, and gives the place to another one.
    [[nodiscard]] virtual std::string_view accepted(Place place) = 0;
    /// The client has sent bytes, which are valid during the call.
    virtual void received(Place place, std::string_view bytes) = 0;
    /// The client sends nothing more. It may still read.
    virtual void ended(Place place) = 0;
    /// The connection is broken, in both directions. The loop closes it.
    virtual void failed(Place place) = 0;
    /// So many bytes more of the buffer were sent. If they are the last, `buffer` is the one that `send` took, and the
    /// observer may keep its memory. Otherwise `buffer` is not to be touched.
    virtual void sent(Place place, std::size_t bytes, std::string& buffer) = 0;

   protected:
    ~Observer() = default;
  };

  /// The outcome of a send, as far as it is known at once.
  struct Sent {
    std::size_t bytes = 0;  ///< that were sent
    bool failed = false;    ///< nothing can be sent any more
  };

  virtual ~Network() = default;

  /// Waits until there is something to report, the loop shall stop, or `most_ms` milliseconds are over. May return
  /// earlier.
  virtual void wait(u32 most_ms) = 0;
  /// Reports what has happened. Does not wait.
  virtual void report(Observer& observer) = 0;
  /// Sends these bytes, one or more. The buffer that was sent before must have come back. Bytes that were not sent at
  /// once go on: then the network takes the buffer and leaves an empty one. Otherwise the buffer is left as it is.
  [[nodiscard]] virtual Sent send(Place place, std::string& bytes) = 0;
  /// Says whether input of the connection is wanted, as it is at first. What had come before is still reported: at most
  /// as much as one report brings.
  virtual void want_input(Place place, bool wanted) = 0;
  /// Closes the connection. What it still has to send is lost.
  virtual void close(Place place) = 0;
  /// Accepts no client any more. The network closes those that come nevertheless.
  virtual void stop_accepting() = 0;
};

}  // namespace latchlab::kv
