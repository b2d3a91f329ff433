#include "indexes/remote/options.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/wire/memcached.h"

namespace latchlab::remote {

namespace {

constexpr std::string_view kHere = "127.0.0.1:11211";  // where memcached and our server listen by default
constexpr char kBetweenAddresses = '+';                // commas are between options

std::string text_of(const std::vector<Address>& addresses) {
  std::string text;
  for (const Address& address : addresses) (text += text.empty() ? "" : "+") += address.text;
  return text;
}

Transport transport_of(const Address& address) {
  if (address.is_ucx()) return Transport::kUcx;
  return address.is_mailboxes() ? Transport::kShm : Transport::kSocket;
}

}  // namespace

Options Options::parse(const Spec& spec) {
  SpecReader reader(spec, "index remote");
  Options options;
  const std::string all = reader.text("addr", kHere);
  for (std::string_view rest = all;;) {
    const std::size_t end = rest.find(kBetweenAddresses);
    const Address address = Address::parse("index remote: addr", rest.substr(0, end));
    if (std::ranges::any_of(options.addresses, [&](const Address& other) { return other.text == address.text; }))
      throw InputError("index remote: addr: " + address.text + " is given twice");
    options.addresses.push_back(address);
    if (end == rest.npos) break;
    rest.remove_prefix(end + 1);
  }
  options.dialect = reader.word("protocol", options.dialect);
  options.transport = reader.word("transport", transport_of(options.addresses[0]));
  options.wording.key_bytes =
      reader.number("key_size", Wording::kLeastKeyBytes, Wording::kLeastKeyBytes, kMostKeyBytes);
  options.wording.value_bytes = reader.number("value_size", 0, 0, u64{1} << 20);
  options.flush = reader.flag("flush", false);
  options.keeps = reader.flag("keeps", true);
  reader.finish();
  for (const Address& address : options.addresses) {
    if (transport_of(address) == options.transport) continue;
    throw InputError(
        fmt::format("index remote: transport={} does not go to {}", word(options.transport), address.text));
  }
  return options;
}

std::vector<std::pair<std::string, std::string>> Options::resolved() const {
  return {{"addr", text_of(addresses)},
          {"protocol", std::string(word(dialect))},
          {"transport", std::string(word(transport))},
          {"key_size", std::to_string(wording.key_bytes)},
          {"value_size", std::to_string(wording.value_bytes)},
          {"flush", flush ? "1" : "0"},
          {"keeps", keeps ? "1" : "0"}};
}

std::string_view Options::about(std::string_view key) {
  if (key == "addr")
    return "the server, HOST:PORT, unix:PATH, shm:PATH or ucx:HOST:PORT; several, with + between, are partitions";
  if (key == "protocol") return "what the server speaks: memcached, meta (memcached's newer commands) or resp (redis')";
  if (key == "transport")
    return "what carries the bytes, by the address: socket, shm (mailboxes in shared memory) or ucx (a library)";
  if (key == "key_size") return "bytes of a key that is a number: hexadecimal digits, zeros in front";
  if (key == "value_size") return "least bytes of a value: decimal digits, blanks behind";
  if (key == "flush") return "1: removes all items from the servers first; 0: refuses servers that have some";
  if (key == "keeps") return "0: the servers keep nothing (./bench serve --index=null), so no answer is checked";
  return {};
}

}  // namespace latchlab::remote
