#pragma once

// The loop of one thread. It accepts, reads, answers and sends, and shares no connection with other loops.
//
//     wait for events -> accept; read every ready connection, a bounded part of each
//                     -> one turn answers them all (turn.h) -> one send a connection -> wait
//
//   1. Nothing blocks but the wait. What a socket does not take is kept, and sent when it takes more.
//   2. A connection whose answers are not read is not read either (Dialogue::wants_input). So it costs the loop
//   nothing,
//      and keeps a bounded part of memory. If nothing of them is taken for a while, it is closed.
//   3. After a stop the loop accepts and reads nothing more, answers what has come, and ends when all is sent or the
//      time for that is over.

#include <atomic>
#include <memory>
#include <vector>

#include "services/kv/dialogue.h"
#include "services/kv/server.h"
#include "services/kv/socket.h"
#include "services/kv/turn.h"
#include "src/base/types.h"

namespace latchlab::kv {

/// The end of a loop, which any thread may ask for. It outlives the loop, so that asking never meets the loop's own
/// end.
class Stop {
 public:
  /// Throws InputError if the kernel refuses an eventfd.
  Stop();
  /// Makes the loop's run end soon. Any thread may call it, once or more.
  void ask() const;
  [[nodiscard]] bool asked() const { return asked_.load(kRelaxed); }
  [[nodiscard]] int file() const { return wake_.number(); }

 private:
  // Relaxed: nothing but the loop's end depends on it. The write to the file wakes the loop, which then looks.
  mutable std::atomic<bool> asked_{false};
  File wake_;
};

class Loop {
 public:
  /// `listeners` are of this loop alone, or shared by all (Listener). Throws InputError if the kernel refuses what a
  /// loop needs. The thread that makes a loop runs and destroys it.
  Loop(Server& server, const std::vector<Listener>& listeners, const Stop& stop);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Serves until the stop is asked for.
  void run();

 private:
  struct Connection {
    Connection(File socket, u64 id, const Limits& limits, bool admitted, Moment now)
        : file(std::move(socket)), dialogue(id, limits, admitted), active(now.second) {}
    File file;
    Dialogue dialogue;
    u32 active;        ///< the second in which bytes last moved
    u32 interest = 0;  ///< the events that the kernel watches
    bool ready = false;
  };

  void wait();
  void accept_from(const Listener& listener);
  void read_from(Connection& connection);
  void make_ready(Connection& connection);
  void answer_ready();
  /// Sends what the connection has to send, and closes it if it is over.
  void send_to(Connection& connection);
  void watch(Connection& connection);
  void close(Connection& connection);
  /// Closes connections that were silent, or did not read, for too long; sweeps the store.
  void every_second();

  Server& server_;
  const std::unique_ptr<Store::Session> session_;
  KvCounts& counts_;
  Turn turn_;
  Moment now_;
  const std::vector<Listener> listeners_;
  const Stop& stop_;
  File epoll_;
  bool draining_ = false;
  u32 drain_until_ = 0, swept_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;  // by the number of the file
  std::size_t open_ = 0;
  std::vector<Connection*> ready_;
  std::vector<Dialogue*> dialogues_;
  std::vector<char> buffer_;
};

}  // namespace latchlab::kv
