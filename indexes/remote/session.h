#pragma once
// The connections of one thread: one to each server. A batch is one request to each server that has some of its keys.
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "indexes/remote/client.h"
#include "indexes/remote/options.h"
#include "indexes/remote/ring.h"
#include "src/base/function_ref.h"
#include "src/base/types.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab::remote {

class Session {
 public:
  /// Connects. Both arguments outlive the session. Throws ConnectionLost.
  Session(const Options& options, const Ring& ring);

  // All throw ConnectionLost and RemoteError. Then some of the operations may have been done.

  void find(std::span<const std::string_view> keys, std::span<Found> found);
  /// Sets done[i] for an insert or an upsert to whether keys[i] was absent, for an update to whether it was present.
  void put(Put how, std::span<const std::string_view> keys, std::span<const u64> values, std::span<bool> done);
  void erase(std::span<const std::string_view> keys, std::span<bool> done);
  /// Adds one to each value, and sets after[i] to what the i-th became.
  void increment(std::span<const std::string_view> keys, std::span<Found> after);
  /// Changes the key in one step from what is there to change(what is there), by versions.
  Modified modify(std::string_view key, FunctionRef<Found(Found before)> change);

 private:
  /// The part of a batch that one server has.
  struct Part {
    std::vector<std::size_t> places;  ///< in the batch
    std::vector<std::string_view> keys;
    std::vector<u64> values;
  };

  Client& client_of(std::string_view key) { return *clients_[clients_.size() == 1 ? 0 : ring_.server_of(key)]; }
  void deal(std::span<const std::string_view> keys, std::span<const u64> values);
  /// Asks all servers of a batch, then hears them. `ask` and `hear` get the client, and the keys, values and answers of
  /// its part.
  template <class Answer>
  void in_parts(std::span<const std::string_view> keys, std::span<const u64> values, std::span<Answer> answers,
                const auto& ask, const auto& hear);

  const Ring& ring_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Part> parts_;  // by the number of the server
};

}  // namespace latchlab::remote
