#include "services/kv/server.h"

#include <utility>

namespace latchlab::kv {

Server::Server(const ServerOptions& options, std::unique_ptr<Store> store, Moment started)
    : options_(options), store_(std::move(store)), started_(started) {}

KvCounts& Server::add_counts() {
  const std::scoped_lock lock(mutex_);
  return *counts_.emplace_back(std::make_unique<KvCounts>());
}

KvCounters Server::counters() const {
  const std::scoped_lock lock(mutex_);
  KvCounters sum;
  for (const auto& counts : counts_) counts->add_to(sum);
  return sum;
}

}  // namespace latchlab::kv
