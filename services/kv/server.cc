#include "services/kv/server.h"

#include <utility>

namespace latchlab::kv {

Server::Server(const ServerOptions& options, std::unique_ptr<Store> store, Moment started)
    : options_(options), store_(std::move(store)), started_(started) {}

KvCounts& Server::add_counts() {
  const std::scoped_lock lock(mutex_);
  return *counts_.emplace_back(std::make_unique<KvCounts>());
}

KvCounters Server::sum() const {
  KvCounters sum;
  for (const auto& counts : counts_) counts->add_to(sum);
  return sum;
}

KvCounters Server::counters() const {
  const std::scoped_lock lock(mutex_);
  return sum();
}

ToldCounts Server::told() const {
  // The counts are read under the mutex, so none is older than its value at the last reset.
  const std::scoped_lock lock(mutex_);
  const KvCounters loops = sum();
  const StoreCounters store = store_->counters();
  ToldCounts told{.loops = counters_since(loops_at_reset_, loops),
                  .store = counters_since(store_at_reset_, store),
                  .connections = loops.open_connections()};
  told.store.items = store.items;
  told.store.bytes = store.bytes;
  return told;
}

void Server::reset_told() const {
  const std::scoped_lock lock(mutex_);
  loops_at_reset_ = sum();
  store_at_reset_ = store_->counters();
}

}  // namespace latchlab::kv
