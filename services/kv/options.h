#pragma once

// The command line of the server.

#include <string>
#include <string_view>
#include <vector>

#include "services/kv/networks.h"
#include "services/kv/server.h"
#include "services/kv/socket.h"

namespace latchlab::kv {

struct ServeCommand {
  ServerOptions server;
  Events events = Events::kEpoll;
  std::vector<Address> addresses;  ///< default: 127.0.0.1:11211
  std::vector<Address> metrics;    ///< at most one
  bool help = false;
};

/// Returns the command of these words. Throws InputError for a word that means nothing, a value out of its range, and
/// options that contradict each other.
[[nodiscard]] ServeCommand parse_serve(const std::vector<std::string>& words);

/// The text of --help.
extern const std::string_view kServeHelp;

}  // namespace latchlab::kv
