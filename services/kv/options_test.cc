#include "services/kv/options.h"

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab::kv {
namespace {

using Catch::Matchers::Contains;
using Words = std::vector<std::string>;

/// Returns the message with which these words are refused.
std::string refusal(const Words& words) {
  try {
    (void)parse_serve(words);
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

TEST_CASE("A server without options has the defaults that the help names") {
  const ServeCommand command = parse_serve({});
  const ServerOptions& server = command.server;
  CHECK(server.store.index.str() == "cuckoo");
  CHECK(server.store.sync.str() == "olc");
  REQUIRE(command.addresses.size() == 1);
  CHECK(command.addresses[0].text == "127.0.0.1:11211");
  CHECK_FALSE(server.secrets);
  CHECK(server.threads == 1);
  CHECK(server.store.limit == 0);
  CHECK(server.gather.keys == Gather::kTurn);
  CHECK_FALSE(server.store.huge_pages);
  CHECK(server.limits.most_value_bytes == 1 << 20);
  CHECK(server.limits.most_connections == 1024);
  CHECK(server.limits.idle_seconds == 3600);
  CHECK(command.events == Events::kEpoll);
  CHECK(command.metrics.empty());
  CHECK_FALSE(command.help);
}

TEST_CASE("Each option sets what it names") {
  const auto server = [](const std::string& word) { return parse_serve({word}).server; };
  CHECK(server("--index=art").store.index.str() == "art");
  CHECK(server("--sync=rowex").store.sync.str() == "rowex");
  CHECK(server("--threads=1024").threads == 1024);
  CHECK(server("--limit=16Mi").store.limit == 16 << 20);
  CHECK(server("--limit=2G").store.limit == 2'000'000'000);
  CHECK_FALSE(server("--batch=auto").batch);
  CHECK(server("--batch=16").batch == Batching{.keys = 16, .order = BatchOrder::kSideBySide});
  CHECK(server("--batch=1:in-turn").batch == Batching{.keys = 1, .order = BatchOrder::kInTurn});
  CHECK(server("--gather=off").gather.keys == 1);
  CHECK(server("--gather=turn").gather.keys == Gather::kTurn);
  CHECK(server("--gather=2").gather.keys == 2);
  CHECK(server("--gather=4096").gather.keys == 4096);
  CHECK(server("--hugepages=thp").store.huge_pages);
  CHECK_FALSE(server("--hugepages=off").store.huge_pages);
  CHECK(server("--most-value=1Ki").limits.most_value_bytes == 1024);
  CHECK(server("--most-value=16711680").limits.most_value_bytes == (16 << 20) - (64 << 10));
  CHECK(server("--most-connections=1").limits.most_connections == 1);
  CHECK(server("--idle=0").limits.idle_seconds == 0);
  CHECK(server("--idle=7").limits.idle_seconds == 7);
  CHECK(parse_serve({"--events=epoll"}).events == Events::kEpoll);
  CHECK(parse_serve({"--events=io_uring"}).events == Events::kUring);
  CHECK(parse_serve({"--metrics=127.0.0.1:9100"}).metrics.at(0).port == "9100");
  CHECK(parse_serve({"--help"}).help);
  CHECK(parse_serve({"-h"}).help);
  CHECK(parse_serve({"--help", "nonsense"}).help);
}

TEST_CASE("A server listens at each address that it is given") {
  const ServeCommand command =
      parse_serve({"--listen=127.0.0.1:1", "--listen=[::1]:65535", "--listen=unix:/run/a.sock", "--listen=127.9.9.9:0",
                   "--listen=ucx:[::1]:7", "--listen=[0:0:0:0:0:0:0:1]:7"});
  REQUIRE(command.addresses.size() == 6);
  CHECK(command.addresses[0].host == "127.0.0.1");
  CHECK(command.addresses[0].port == "1");
  CHECK(command.addresses[1].host == "::1");
  CHECK(command.addresses[1].port == "65535");
  CHECK(command.addresses[2].is_unix());
  CHECK(command.addresses[2].path == "/run/a.sock");
  CHECK(command.addresses[4].is_ucx());
  CHECK(command.addresses[4].host == "::1");
  CHECK(command.addresses[4].port == "7");
  for (const Address& address : command.addresses) CHECK(address.is_local());
}

TEST_CASE("An address of the network needs secrets, or the word that all clients are admitted") {
  for (const std::string address : {"0.0.0.0:1", "[::]:1", "192.168.0.1:11211", "128.0.0.1:1", "ucx:0.0.0.0:1"}) {
    INFO(address);
    CHECK_THAT(refusal({"--listen=" + address}), Contains("--auth=FILE") && Contains("--open-to-the-network"));
    CHECK(parse_serve({"--listen=" + address, "--open-to-the-network"}).addresses.size() == 1);
  }
  const TemporaryFile secrets("anna:secret\n");
  REQUIRE(chmod(secrets.path().c_str(), 0600) == 0);
  const ServeCommand command = parse_serve({"--listen=0.0.0.0:1", "--auth=" + secrets.path()});
  REQUIRE(command.server.secrets);
  CHECK(command.server.secrets->admit("anna", "secret"));
  CHECK_THAT(refusal({"--open-to-the-network", "--auth=" + secrets.path()}), Contains("give one of them"));
  CHECK_THAT(refusal({"--listen=127.0.0.1:1", "--listen=0.0.0.0:1"}), Contains("0.0.0.0:1 lets other machines in"));
}

TEST_CASE("Each wrong option is refused with one line that names it") {
  struct Case {
    Words words;
    std::string text;  ///< a part of the refusal
  };
  for (const auto& [words, text] : std::vector<Case>{
           {{"nonsense"}, "'nonsense' has no meaning here"},
           {{"--nonsense=1"}, "'--nonsense=1' has no meaning here"},
           {{"--treads=2"}, "; did you mean '--threads'?"},
           {{""}, "'' has no meaning here"},
           {{"--open-to-the-network=1"}, "has no meaning here"},
           {{"--threads"}, "--threads needs a value"},
           {{"--threads="}, "--threads= needs a value"},
           {{"--threads=0"}, "--threads: '0' is not a number from 1 to 1024"},
           {{"--threads=1025"}, "--threads: '1025'"},
           {{"--threads=two"}, "--threads: 'two'"},
           {{"--threads=-1"}, "--threads: '-1'"},
           {{"--limit=16M"}, "--limit: '16M' is not a number from 16Mi"},
           {{"--limit=0"}, "--limit: '0'"},
           {{"--limit=99999999999999999999"}, "--limit: '99999999999999999999'"},
           {{"--batch=65"}, "--batch: '65' is not auto, or a number from 1 to 64, alone or with :in-turn behind it"},
           {{"--batch=auto:in-turn"}, "--batch: 'auto:in-turn' is not auto, or a number from 1 to 64"},
           {{"--batch=:in-turn"}, "--batch: ':in-turn'"},
           {{"--batch=16:rolling"}, "--batch: '16:rolling'"},
           {{"--threads=2", "--threads=2"}, "--threads is given twice"},
           {{"--gather=off", "--batch=16"}, "--batch: with --gather=off"},
           {{"--metrics=127.0.0.1:0"}, "is no port that a client could know"},
           {{"--gather=on"}, "--gather: 'on'"},
           {{"--gather=1"}, "--gather: '1' is not off, turn, or a number from 2 to 4096"},
           {{"--gather=4097"}, "--gather: '4097'"},
           {{"--events=poll"}, "--events: 'poll' is not epoll or io_uring"},
           {{"--hugepages=on"}, "--hugepages: 'on' is not off or thp"},
           {{"--most-value=1023"}, "--most-value: '1023'"},
           {{"--most-value=16Mi"}, "--most-value: '16Mi'"},
           {{"--most-connections=0"}, "--most-connections: '0'"},
           {{"--most-connections=2Mi"}, "--most-connections: '2Mi'"},
           {{"--idle=-1"}, "--idle: '-1'"},
           {{"--idle=2Gi"}, "--idle: '2Gi'"},
           {{"--listen=11211"}, "--listen: '11211': there is no port"},
           {{"--listen=127.0.0.1:65536"}, "the port is not a number from 0 to 65535"},
           {{"--listen=127.0.0.1:"}, "the port is not a number from 0 to 65535"},
           {{"--listen=:1"}, "there is no host"},
           {{"--listen=localhost:1"},
            "'localhost:1': the host is no address of IPv4 or IPv6; write one such as 127.0.0.1"},
           {{"--listen=unix:"}, "there is no path"},
           {{"--listen=ucx:11211"}, "there is no port"},
           {{"--listen=ucx:localhost:1"}, "the host is no address of IPv4 or IPv6"},
           {{"--metrics=0.0.0.0:1"}, "--metrics: 0.0.0.0:1 lets other machines in"},
           {{"--metrics=0.0.0.0:1", "--open-to-the-network"}, "--metrics: 0.0.0.0:1 lets other machines in"},
           {{"--metrics=127.0.0.1:1", "--metrics=127.0.0.1:2"}, "--metrics is given twice"},
           {{"--metrics=nowhere"}, "--metrics: 'nowhere'"},
           {{"--auth=/nonexistent"}, "--auth: /nonexistent: cannot be read"},
       }) {
    INFO(words.front());
    const std::string refused = refusal(words);
    CHECK_THAT(refused, Contains(text));
    CHECK(refused.find('\n') == std::string::npos);
  }
}

TEST_CASE("A limit has room for the huge pages of all loops") {
  const auto said = [](const std::string& limit, const Words& more = {}) {
    Words words{"--hugepages=thp", "--limit=" + limit};
    words.insert(words.end(), more.begin(), more.end());
    return refusal(words);
  };
  CHECK(said("20Mi") == "not refused");
  CHECK(said("19Mi") ==
        "--limit: with --hugepages=thp and 1 loop it is at least 20Mi, since each loop takes whole pages of 2 MiB");
  CHECK_THAT(said("271Mi", {"--threads=64"}), Contains("64 loops it is at least 272Mi"));
  CHECK(said("272Mi", {"--threads=64"}) == "not refused");
  // Sockets share their loops. A file of mailboxes has as many, and an address of UCX has one.
  const Words places{"--threads=2", "--listen=127.0.0.1:1", "--listen=unix:/a", "--listen=shm:/b",
                     "--listen=ucx:[::1]:1"};
  CHECK_THAT(said("16Mi", places), Contains("5 loops it is at least 36Mi"));
  CHECK(refusal({"--limit=16Mi", "--threads=64"}) == "not refused");
  CHECK(refusal({"--hugepages=thp", "--threads=64"}) == "not refused");
}

TEST_CASE("An index and a policy that are no words are refused") {
  CHECK(refusal({"--index=,"}) != "not refused");
  CHECK(refusal({"--sync=,"}) != "not refused");
}

TEST_CASE("The help names every option") {
  const Words options = {
      "--index=",  "--sync=",   "--listen=", "--auth=", "--open-to-the-network", "--threads=",    "--limit=",
      "--batch=",  "--gather=", "--events=", "--idle=", "--hugepages=",          "--most-value=", "--most-connections=",
      "--metrics="};
  for (const std::string& option : options) {
    INFO(option);
    CHECK(kServeHelp.find("\n  " + option) != std::string_view::npos);
  }
}

}  // namespace
}  // namespace latchlab::kv
