#pragma once
// One connection to one server, in one dialect.
//
// A request of several keys is asked in one piece, and heard in another. So a session asks all of its servers before it
// hears the first.
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "indexes/remote/options.h"
#include "src/base/function_ref.h"
#include "src/base/types.h"
#include "src/wire/address.h"
#include "sync/attempt.h"

namespace latchlab::remote {

/// An answer that the dialect does not allow, or a refusal. The text is one line that names the server.
struct RemoteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A value with the number of its version, which every change makes anew.
struct Versioned {
  u64 value = 0;
  u64 version = 0;
};

class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  // Each ask is followed by its hear, on the same keys. All throw ConnectionLost and RemoteError; then the connection
  // is of no more use.

  virtual void ask_find(std::span<const std::string_view> keys) = 0;
  virtual void hear_find(std::span<const std::string_view> keys, std::span<Found> found) = 0;
  /// `how` is kInsert or kUpdate.
  virtual void ask_put(Put how, std::span<const std::string_view> keys, std::span<const u64> values) = 0;
  /// Throws RemoteError in dialects without such an operation.
  virtual void ask_increment(std::span<const std::string_view> keys) = 0;
  virtual void hear_increment(std::span<Found> after) = 0;
  virtual void ask_erase(std::span<const std::string_view> keys) = 0;
  /// Hears puts and erasures. Sets done[i] to whether the i-th has changed something.
  virtual void hear_done(std::span<bool> done) = 0;

  /// Puts the value, whatever is there. Returns true if the key was absent.
  virtual bool upsert(std::string_view key, u64 value) = 0;

  /// Returns the value of the key with its version.
  virtual std::optional<Versioned> find_version(std::string_view key) = 0;
  /// Changes the value if it still has the version; `value` is nothing to erase it. Returns true if so.
  virtual bool change_version(std::string_view key, u64 version, Found value) = 0;

  // For the whole server:

  [[nodiscard]] virtual u64 count() = 0;
  /// Returns the bytes of the items, as the server counts them.
  [[nodiscard]] virtual u64 bytes() = 0;
  virtual void flush() = 0;
  /// Calls visit for each key; for some perhaps twice. The key is valid during the call, which must not use the client.
  virtual void for_each_key(FunctionRef<void(std::string_view key)> visit) = 0;
};

/// Connects. Throws ConnectionLost.
[[nodiscard]] std::unique_ptr<Client> connect(const Options& options, const Address& address);
// The same, for the dialects memcached and meta, and for resp.
[[nodiscard]] std::unique_ptr<Client> connect_memcached(const Options& options, const Address& address);
[[nodiscard]] std::unique_ptr<Client> connect_resp(const Options& options, const Address& address);

/// Connects to each server, and removes its items if the options say `flush`. Throws InputError if a server cannot be
/// reached, or has items otherwise.
void prepare(const Options& options);

/// Throws RemoteError if the dialect does not allow the key.
void check_key(const Options& options, std::string_view key);

}  // namespace latchlab::remote
