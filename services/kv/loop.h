#pragma once

// The loop of one thread. It answers what its network brings, and shares no connection with other loops.
//
//     wait for the network -> take what it reports: new connections, input, what was sent (network.h)
//                          -> one turn answers all of that (turn.h) -> one send a connection -> wait
//
//   1. Nothing blocks but the wait. Answers that are not taken at once are sent beside later turns.
//   2. A connection whose answers are not read is not read either (Dialogue::wants_input). So it keeps a bounded part
//      of memory. If nothing of them is taken for a while, it is closed.
//   3. After a stop the loop accepts and reads nothing more, answers what has come, and ends when all is sent or the
//      time for that is over.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/dialogue.h"
#include "services/kv/network.h"
#include "services/kv/server.h"
#include "services/kv/stop.h"
#include "services/kv/turn.h"
#include "src/base/types.h"

namespace latchlab::kv {

class Loop final : private Network::Observer {
 public:
  /// The thread that makes a loop runs and destroys it.
  Loop(Server& server, std::unique_ptr<Network> network, const Stop& stop);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Serves until the stop is asked for.
  void run();

 private:
  struct Connection {
    Connection(Network::Place its_place, u64 id, const Limits& limits, bool admitted, Moment now)
        : place(its_place), dialogue(id, limits, admitted), active(now.second) {}
    const Network::Place place;
    Dialogue dialogue;
    u32 active;               ///< the second in which bytes last moved
    u32 heard = 0;            ///< the last round of draining in which input came
    bool wants_input = true;  ///< as the network knows
    bool ready = false;
  };

  // What the network reports.
  std::string_view accepted(Network::Place place) override;
  void received(Network::Place place, std::string_view bytes) override;
  void ended(Network::Place place) override;
  void failed(Network::Place place) override;
  void sent(Network::Place place, std::size_t bytes, std::string& buffer) override;

  void wait();
  void make_ready(Connection& connection);
  void answer_ready();
  /// Sends what the connection has to send, and closes it if it is over.
  void send_to(Connection& connection);
  void note_sent(Connection& connection, std::size_t bytes, std::string& buffer);
  void close(Connection& connection);
  void begin_draining();
  /// After a stop: takes the input that has come, and ends that of the connections from which none came in a round of
  /// passes, long enough to ask the network of all.
  void drain();
  void begin_round();
  /// Sweeps the store so many times, and notes whether there is more to remove: then the loop does not wait.
  void sweep(u32 looks);
  /// Closes connections that were silent, or did not read, for too long; sweeps the store.
  void every_second();

  Server& server_;
  const std::unique_ptr<Store::Session> session_;
  KvCounts& counts_;
  Turn turn_;
  Moment now_;
  const std::unique_ptr<Network> network_;
  const Stop& stop_;
  bool draining_ = false;
  bool sweeping_ = false;
  bool takes_rest_ = false;     // some input may have come before the stop
  u32 round_ = 0, passes_ = 0;  // of draining; the passes that are left of a round
  bool news_ = false;           // the network has told something in this pass
  u32 drain_until_ = 0, swept_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;  // by their places
  std::size_t open_ = 0;
  std::vector<Connection*> ready_;
  std::vector<Dialogue*> dialogues_;
};

}  // namespace latchlab::kv
