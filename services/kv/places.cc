#include "services/kv/places.h"

#include "services/kv/mailbox_network.h"

namespace latchlab::kv {

Places::Places(const ServeCommand& command)
    : threads_(command.server.threads), events_(command.events), limits_(command.server.limits) {
  for (const Address& asked : command.addresses) {
    Address& address = addresses_.emplace_back(asked);
    if (address.is_mailboxes()) {
      mailboxes_.push_back(mailboxes::Mapping::made_at(address.path, threads_));
      paths_.emplace_back(address.path);
      continue;
    }
    if (address.is_ucx()) {
      ucx_listeners_.push_back(listen_ucx(address));
      continue;
    }
    listeners_.resize(threads_);
    if (threads_ > 1 && !address.is_unix()) check_free("--listen", address);
    for (u32 i = 0; i < threads_; ++i) {
      if (i == 0 || !address.is_unix()) files_.push_back(listen_at("--listen", address, threads_ > 1));
      if (address.is_unix() && i == 0) paths_.emplace_back(address.path);
      if (!address.is_unix() && i == 0) address = address.at_port(port_of(files_.back()));
      listeners_[i].push_back(
          {.file = files_.back().number(), .is_unix = address.is_unix(), .shared = address.is_unix()});
    }
  }
}

std::unique_ptr<Network> Places::network_of(u32 loop, const Stop& stop) const {
  if (loop < listeners_.size()) return make_network(events_, listeners_[loop], stop, limits_);
  const u32 number = loop - static_cast<u32>(listeners_.size());
  if (number < mailboxes_.size() * threads_)
    return std::make_unique<MailboxNetwork>(mailboxes_[number / threads_].layout(), number % threads_, stop);
  return ucx_listeners_[number - mailboxes_.size() * threads_]->network(stop);
}

}  // namespace latchlab::kv
