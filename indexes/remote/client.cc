#include "indexes/remote/client.h"

#include "indexes/remote/connection.h"
#include "src/base/error.h"
#include "src/base/printable.h"
#include "src/wire/memcached.h"

namespace latchlab::remote {

std::unique_ptr<ByteStream> connect_stream(const Options& options, const Address& address) {
  switch (options.transport) {
    case Transport::kSocket: return connect_socket(address);
    case Transport::kShm: return connect_mailbox(address);
    case Transport::kUcx: return connect_ucx(address);
  }
  return nullptr;
}

std::unique_ptr<Client> connect(const Options& options, const Address& address) {
  return options.dialect == Dialect::kResp ? connect_resp(options, address) : connect_memcached(options, address);
}

void prepare(const Options& options) {
  for (const Address& address : options.addresses) {
    u64 items = 0;
    try {
      const std::unique_ptr<Client> client = connect(options, address);
      options.flush ? client->flush() : void(items = client->count());
    } catch (const std::runtime_error& error) {
      throw InputError(std::string("index remote: ") + error.what());
    }
    if (items != 0) {
      throw InputError("index remote: " + address.text + " has " + std::to_string(items) +
                       " items; remote:flush=1 removes them first");
    }
  }
}

void check_key(const Options& options, std::string_view key) {
  if (options.dialect == Dialect::kResp || is_memcached_key(key)) return;
  throw RemoteError("index remote: memcached has no key '" + printable(key) +
                    "': 1 to 250 bytes, no blanks or control characters; protocol=resp takes all");
}

}  // namespace latchlab::remote
