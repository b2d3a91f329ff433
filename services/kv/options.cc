#include "services/kv/options.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "src/base/error.h"
#include "src/base/quantity.h"
#include "src/base/spec.h"
#include "src/memory/page_source.h"

namespace latchlab::kv {

const std::string_view kServeHelp =
    R"(./bench serve [OPTION...]    serves items under keys, to clients of memcached and of redis

  --index=SPEC             the index of the store; default: cuckoo
  --sync=SPEC              its policy; default: olc
  --listen=ADDRESS         HOST:PORT, [HOST]:PORT, unix:PATH, shm:PATH or ucx:HOST:PORT; several may be given;
                           HOST is an address of IPv4 or IPv6; default: 127.0.0.1:11211
  --auth=FILE              admits only clients that say a name and a password in FILE, which has lines name:password
  --open-to-the-network    admits all clients, also where --listen lets other machines in
  --threads=N              loops; default: 1
  --limit=BYTES            the most memory of the store, which evicts beyond it: 16Mi and more, with --hugepages=thp
                           4Mi more for each loop; default: none
  --gather=off|turn|N      how many keys are looked up together: one, all of a turn, or up to N; default: turn
  --batch=auto|N[:in-turn] how: the faster of together and one by one, or N a call of the index; default: auto
  --events=epoll|io_uring  by which loops serve connections; default: epoll
  --hugepages=off|thp      pages of the store; default: off
  --most-value=BYTES       the longest value, 1Ki to 16Mi less 64Ki; default: 1Mi
  --most-connections=N     default: 1024
  --idle=SECONDS           closes connections that were silent for so long; 0: none; default: 3600
  --metrics=ADDRESS        answers requests of HTTP with all counts, in Prometheus' text format; on this machine only

Passwords and values cross the network as they are: let a proxy do TLS.
SIGTERM and SIGINT answer what has come, and end.
)";

namespace {

constexpr u64 kLeastLimit = 16 << 20;

[[noreturn]] void refuse(std::string_view option, std::string_view value, std::string_view right) {
  throw InputError(std::string(option) + ": '" + std::string(value) + "' is not " + std::string(right));
}

std::optional<u64> number_in_range(std::string_view value, u64 least, u64 most) {
  const std::optional<Scaled> scaled = count_of(value);
  if (!scaled || !scaled->fits || scaled->value < least || scaled->value > most) return std::nullopt;
  return scaled->value;
}

std::string range_text(u64 least, u64 most) { return "a number from " + count_text(least) + " to " + count_text(most); }

u64 number(std::string_view option, std::string_view value, u64 least, u64 most) {
  const std::optional<u64> found = number_in_range(value, least, most);
  if (!found) refuse(option, value, range_text(least, most));
  return *found;
}

u64 gather(std::string_view option, std::string_view value) {
  if (value == "off") return 1;
  if (value == "turn") return Gather::kTurn;
  const std::optional<u64> keys = number_in_range(value, 2, Gather::kTurn);
  if (!keys) refuse(option, value, "off, turn, or " + range_text(2, Gather::kTurn));
  return *keys;
}

std::optional<Batching> batch(std::string_view option, std::string_view value) {
  if (value == "auto") return std::nullopt;
  constexpr std::string_view kInTurn = ":in-turn";
  const bool in_turn = value.ends_with(kInTurn);
  const std::string_view keys = value.substr(0, value.size() - (in_turn ? kInTurn.size() : 0));
  const std::optional<u64> found = number_in_range(keys, 1, kMostInAttempt);
  if (!found) refuse(option, value, "auto, or " + range_text(1, kMostInAttempt) + ", alone or with :in-turn behind it");
  return Batching{.keys = static_cast<u32>(*found), .order = in_turn ? BatchOrder::kInTurn : BatchOrder::kSideBySide};
}

/// Returns the number of the server's loops (places.h).
u64 loops_of(const ServeCommand& command) {
  const auto is_socket = [](const Address& address) { return !address.is_mailboxes() && !address.is_ucx(); };
  const bool sockets = std::ranges::any_of(command.addresses, is_socket);
  const auto files = static_cast<u64>(std::ranges::count_if(command.addresses, &Address::is_mailboxes));
  const auto ucx = static_cast<u64>(std::ranges::count_if(command.addresses, &Address::is_ucx));
  return (files + (sockets ? 1 : 0)) * command.server.threads + ucx;
}

void check_limit(const ServeCommand& command) {
  const StoreOptions& store = command.server.store;
  if (store.limit == 0 || !store.huge_pages) return;
  constexpr u64 kPages = 2;  // of a loop: one of items, one of the index's nodes
  const u64 loops = loops_of(command), least = kLeastLimit + loops * kPages * kHugePageBytes;
  if (store.limit >= least) return;
  throw InputError("--limit: with --hugepages=thp and " + std::to_string(loops) + " loop" + (loops > 1 ? "s" : "") +
                   " it is at least " + count_text(least) + ", since each loop takes whole pages of 2 MiB");
}

void check(const ServeCommand& command, bool open) {
  check_limit(command);
  if (open && command.server.secrets)
    throw InputError("--open-to-the-network admits all clients, and --auth only some; give one of them");
  for (const Address& address : command.addresses) {
    if (!address.is_local() && !open && !command.server.secrets)
      throw InputError("--listen: " + address.text +
                       " lets other machines in; say by whom: --auth=FILE, or --open-to-the-network for all");
  }
  if (command.server.gather.keys == 1 && command.server.batch && command.server.batch->keys > 1)
    throw InputError("--batch: with --gather=off one key is looked up at a time; leave one of them out");
  if (command.metrics.empty()) return;
  const Address& metrics = command.metrics.front();
  if (metrics.is_mailboxes() || metrics.is_ucx())
    throw InputError("--metrics: '" + metrics.text + "' does not take HTTP; write HOST:PORT or unix:PATH");
  if (!metrics.is_unix() && metrics.port.find_first_not_of('0') == metrics.port.npos)
    throw InputError("--metrics: '" + metrics.text + "' is no port that a client could know; give its number");
  if (!metrics.is_local())
    throw InputError("--metrics: " + metrics.text + " lets other machines in; only this one may");
}

}  // namespace

ServeCommand parse_serve(const std::vector<std::string>& words) {
  ServeCommand command;
  ServerOptions& server = command.server;
  Limits& limits = server.limits;
  bool open = false;
  using Take = std::function<void(std::string_view option, std::string_view value)>;
  const std::map<std::string_view, Take> known{
      {"--index", [&](auto, auto value) { server.store.index = Spec::parse(value); }},
      {"--sync", [&](auto, auto value) { server.store.sync = Spec::parse(value); }},
      {"--listen", [&](auto option, auto value) { command.addresses.push_back(Address::parse(option, value)); }},
      {"--auth", [&](auto, auto value) { server.secrets = Secrets::read(std::string(value)); }},
      {"--threads",
       [&](auto option, auto value) { server.threads = static_cast<u32>(number(option, value, 1, 1024)); }},
      {"--limit",
       [&](auto option, auto value) { server.store.limit = number(option, value, kLeastLimit, u64{1} << 50); }},
      {"--gather", [&](auto option, auto value) { server.gather.keys = gather(option, value); }},
      {"--batch", [&](auto option, auto value) { server.batch = batch(option, value); }},
      {"--events",
       [&](auto option, auto value) {
         if (value != "epoll" && value != "io_uring") refuse(option, value, "epoll or io_uring");
         command.events = value == "epoll" ? Events::kEpoll : Events::kUring;
       }},
      {"--hugepages",
       [&](auto option, auto value) {
         if (value != "off" && value != "thp") refuse(option, value, "off or thp");
         server.store.huge_pages = value == "thp";
       }},
      {"--most-value",
       [&](auto option, auto value) {
         limits.most_value_bytes = number(option, value, 1 << 10, (16 << 20) - (64 << 10));
       }},
      {"--most-connections",
       [&](auto option, auto value) { limits.most_connections = static_cast<u32>(number(option, value, 1, 1 << 20)); }},
      {"--idle",
       [&](auto option, auto value) { limits.idle_seconds = static_cast<u32>(number(option, value, 0, 1 << 30)); }},
      {"--metrics", [&](auto option, auto value) { command.metrics.push_back(Address::parse(option, value)); }},
  };
  std::set<std::string_view> given;
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") {
      command.help = true;
      return command;
    }
    if (word == "--open-to-the-network") {
      open = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const auto take = known.find(std::string_view(word).substr(0, equals));
    if (take == known.end()) {
      std::string all;
      for (const auto& [name, unused] : known) all += std::string(name) + "=, ";
      std::vector<std::string> names{"--open-to-the-network"};
      for (const auto& [name, unused] : known) names.emplace_back(name);
      throw InputError("'" + word + "' has no meaning here; there are " + all + "--open-to-the-network" +
                       suggestion(std::string_view(word).substr(0, equals), names));
    }
    if (equals == word.npos || equals + 1 == word.size())
      throw InputError(word + " needs a value: " + std::string(take->first) + "=...");
    if (!given.insert(take->first).second && take->first != "--listen")
      throw InputError(std::string(take->first) + " is given twice");
    take->second(take->first, std::string_view(word).substr(equals + 1));
  }
  if (command.addresses.empty()) command.addresses.push_back(Address::parse("--listen", "127.0.0.1:11211"));
  check(command, open);
  return command;
}

}  // namespace latchlab::kv
