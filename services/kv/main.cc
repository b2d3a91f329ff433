// The server: one process, one store, one loop a thread. options.h has the grammar of the command line.

#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "services/kv/clock.h"
#include "services/kv/loop.h"
#include "services/kv/metrics.h"
#include "services/kv/networks.h"
#include "services/kv/null_store.h"
#include "services/kv/options.h"
#include "services/kv/places.h"
#include "services/kv/server.h"
#include "services/kv/stop.h"
#include "services/kv/store_kinds.h"
#include "src/base/error.h"
#include "src/base/printable.h"

namespace latchlab::kv {

namespace {

/// Makes room for the files of all connections. Throws InputError if the system does not grant it.
void allow_files(const ServeCommand& command) {
  constexpr rlim_t kOthers = 64, kOfLoop = 4;  // of the program; of a loop, besides its listeners
  const rlim_t loops = rlim_t{command.server.threads} * command.addresses.size();
  const rlim_t wanted = command.server.limits.most_connections + kOthers + loops * (kOfLoop + command.addresses.size());
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return;
  if (limit.rlim_max < wanted) {
    throw InputError("--most-connections=" + std::to_string(command.server.limits.most_connections) + " needs " +
                     std::to_string(wanted) + " open files, and the system grants " + std::to_string(limit.rlim_max) +
                     " (ulimit -n)");
  }
  limit.rlim_cur = wanted;
  setrlimit(RLIMIT_NOFILE, &limit);
}

u64 random_seed() {
  std::random_device device;
  return u64{device()} << 32 | device();
}

/// Serves until SIGTERM or SIGINT.
void serve(const ServeCommand& command, const StoreKinds& kinds) {
  check_events(command.events);
  const StoreKind& kind = kinds.find(command.server.store);
  if (!kind.walks && command.server.store.limit != 0)
    throw InputError("--limit: a store over " + kind.index +
                     " cannot evict, since the index cannot be walked beside changes; leave --limit out");
  allow_files(command);

  // Before any thread begins, so that all threads leave these signals to this one.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  Server server(command.server, kind.make(command.server.store, random_seed()), present());
  const Places places(command);
  if (places.loops() > 1 && !kind.many_writers)
    throw InputError("--sync=" + kind.policy + " allows one thread that writes; give --threads=1 and one --listen");
  std::unique_ptr<Metrics> metrics;
  if (!command.metrics.empty()) metrics = std::make_unique<Metrics>(server, command.metrics.front());

  const std::vector<Stop> stops(places.loops());
  std::vector<std::exception_ptr> failures(places.loops());
  // Ends the loops also if a thread cannot be made.
  struct Threads {
    ~Threads() {
      for (const Stop& stop : stops) stop.ask();
      for (std::thread& thread : all) thread.join();
    }
    const std::vector<Stop>& stops;
    std::vector<std::thread> all{};
  };
  std::optional<Threads> threads;
  threads.emplace(stops);
  for (u32 i = 0; i < places.loops(); ++i) {
    threads->all.emplace_back([&, i] {
      try {
        Loop(server, places.network_of(i, stops[i]), stops[i]).run();
      } catch (...) {
        failures[i] = std::current_exception();
        kill(getpid(), SIGTERM);
      }
    });
  }
  for (const Address& address : places.addresses())
    std::fprintf(stderr, "serve: listens at %s\n", address.text.c_str());
  int signal = 0;
  sigwait(&ends, &signal);
  threads.reset();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

int run(const std::vector<std::string>& words) {
  StoreKinds kinds;
  add_all(kinds);
  kinds.add(null_store_kind());
  const bool asks = !words.empty() && words.front() == "missing-pairs";  // asked by ./bench
  const ServeCommand command = parse_serve({words.begin() + asks, words.end()});
  if (command.help) {
    if (!asks) std::fwrite(kServeHelp.data(), 1, kServeHelp.size(), stdout);
  } else if (asks) {
    if (kinds.lacks(command.server.store))
      std::printf("%s:%s\n", command.server.store.index.name.c_str(), command.server.store.sync.name.c_str());
  } else {
    serve(command, kinds);
  }
  return 0;
}

}  // namespace

}  // namespace latchlab::kv

int main(int argc, char** argv) {
  try {
    return latchlab::kv::run({argv + 1, argv + argc});
  } catch (const latchlab::InputError& error) {
    std::fprintf(stderr, "serve: %s\n", error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "serve: memory is out\n");
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "serve: %s\n", latchlab::printable(error.what()).c_str());
    return 1;
  }
}
