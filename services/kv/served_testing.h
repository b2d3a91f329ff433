#pragma once

// A server as programs see it: it listens, and its loops serve in threads of their own, within the test's process.

#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "indexes/chained/chained.h"
#include "services/kv/clock.h"
#include "services/kv/loop.h"
#include "services/kv/options.h"
#include "services/kv/places.h"
#include "services/kv/server.h"
#include "services/kv/socket.h"
#include "services/kv/stop.h"
#include "services/kv/store_of.h"
#include "src/base/key.h"
#include "src/machine/native.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::kv::testing {

class Served {
 public:
  /// Serves at the command's addresses, until the test ends it.
  explicit Served(const ServeCommand& command) : Served(command, chained(command.server.store)) {}
  /// Serves from this store.
  Served(const ServeCommand& command, std::unique_ptr<Store> store)
      : command_(command),
        places_(command_),
        server_(command_.server, std::move(store), present()),
        stops_(places_.loops()) {
    for (u32 i = 0; i < places_.loops(); ++i) {
      threads_.emplace_back([this, i] { Loop(server_, places_.network_of(i, stops_[i]), stops_[i]).run(); });
    }
  }
  /// Serves at a path that no other process knows, by one loop.
  explicit Served(Events events, const Limits& limits = {}) : Served(at_path(events, limits)) {}
  ~Served() { stop(); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  /// Stops the loops, and waits for their end.
  void stop() {
    for (const Stop& stop : stops_) stop.ask();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  KvCounters counters() const { return server_.counters(); }
  const Server& server() const { return server_; }
  /// The path of the first address.
  std::string_view path() const { return command_.addresses.front().path; }

  /// Returns a store over chains.
  static std::unique_ptr<Store> chained(const StoreOptions& options) {
    return std::make_unique<StoreOf<Synchronized<Chained, Olc<Native>, U64Key>>>(options, 1);
  }
  /// Returns the command of a server at an address of this process: `scheme` is unix, shm or ucx.
  static ServeCommand at_path(Events events = Events::kEpoll, const Limits& limits = {},
                              std::string_view scheme = "unix") {
    ServeCommand command;
    command.events = events;
    command.server.limits = limits;
    command.server.store.index = Spec::parse("chained");
    if (scheme == "ucx") {
      const File free = listen_at("--listen", Address::parse("--listen", "127.0.0.1:0"), false);
      const int port = port_of(free);
      command.addresses.push_back(Address::parse("--listen", "ucx:127.0.0.1:" + std::to_string(port)));
      return command;
    }
    const std::string folder = scheme == "shm" ? "/dev/shm" : "/tmp";
    const std::string path = folder + "/latchlab_served_" + std::to_string(getpid()) + "." + std::string(scheme);
    command.addresses.push_back(Address::parse("--listen", std::string(scheme) + ":" + path));
    return command;
  }

 private:
  const ServeCommand command_;
  const Places places_;
  Server server_;
  const std::vector<Stop> stops_;
  std::vector<std::thread> threads_;
};

}  // namespace latchlab::kv::testing
