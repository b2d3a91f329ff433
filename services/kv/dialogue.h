#pragma once

// What a connection says and is answered, without a network: bytes in, bytes out, and what the protocol must remember
// between turns. The loop moves the bytes (loop.h), and a turn answers them (turn.h).
//
//     in    | used | a whole command | a whole command | the beginning of one |        views of commands point here
//     out   | answers that the network has not taken yet |
//
// The network takes the whole output, and sends it while the next turns fill a new one. It gives the memory back.
// A command is dropped from `in` when its answer is complete. A lookup of many keys may fill `out` before that. Then
// the dialogue is full: it remembers how many keys it has answered, and the next turn goes on behind them. It parses
// the command again, unless the dialogue holds its keys. `out` stays within its limit and one value.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/server.h"
#include "src/base/types.h"
#include "src/wire/memcached.h"
#include "src/wire/protocol.h"
#include "src/wire/resp.h"

namespace latchlab::kv {

/// The keys of a command that are too many for one turn, as places in the input. So the command is parsed once, and
/// each turn answers a part of them.
struct HeldKeys {
  struct Place {
    u32 at;  ///< behind the beginning of the command
    u32 bytes;
  };
  std::vector<Place> places;
  MemcachedVerb verb = MemcachedVerb::kGet;  ///< of memcached's command; redis' is MGET
  i64 exptime = 0;                           ///< of gat
  std::size_t used = 0;                      ///< bytes of the command
};

class Dialogue {
 public:
  /// `id` is that of the connection, for the client to see. `is_admitted`: it need not say a password.
  Dialogue(u64 id, const Limits& limits, bool is_admitted)
      : id_(id), limits_(&limits), admitted(is_admitted), memcached(memcached_limits()), resp(resp_limits()) {}

  [[nodiscard]] u64 id() const { return id_; }

  /// Notes that the client has said a password: it may ask for anything, and at length.
  void admit();

  // The loop's side.

  /// Adds what the client has sent. Views of commands are invalid afterwards.
  void receive(std::string_view bytes);
  /// Notes that the client sends nothing more.
  void end_input() { ended_ = true; }
  [[nodiscard]] bool input_ended() const { return ended_; }
  /// Notes that the client is gone: nothing is answered or sent any more.
  void abandon();
  /// Returns true if more input is of use: what has come is answered as far as it can be, the answers so far are not
  /// too many, and the connection does not close.
  [[nodiscard]] bool wants_input() const {
    return !closing && !ended_ && !waits && unsent() < limits_->most_output_bytes;
  }
  /// Returns the bytes of all answers that are not sent: those in `out`, and those that the network has.
  [[nodiscard]] std::size_t unsent() const { return out.size() + sending_; }
  /// Returns true if the network has answers. It takes no others until they are sent.
  [[nodiscard]] bool sending() const { return sending_ != 0; }
  /// Notes that the network gets all of `out`. The caller passes it on, as memory that is moved.
  void begin_sending() { sending_ = out.size(); }
  /// Notes that so many bytes were sent. After the last, keeps the memory of `buffer`, which had them, if `out` has
  /// less.
  void sent(std::size_t bytes, std::string& buffer);
  /// Returns true if nothing is left to answer or to send, so that the connection can be closed.
  [[nodiscard]] bool over() const { return unsent() == 0 && (closing || (ended_ && !waits)); }
  /// Returns the bytes that the dialogue keeps.
  [[nodiscard]] std::size_t bytes() const {
    const std::size_t places = held == nullptr ? 0 : held->places.capacity() * sizeof(HeldKeys::Place);
    return in_.capacity() + out.capacity() + places;
  }

  // The turn's side.

  [[nodiscard]] std::string_view input() const { return std::string_view(in_).substr(used_); }
  /// Drops bytes at the front of the input, and `skip` further ones as they come.
  void drop(std::size_t bytes, u64 skip = 0);
  /// Notes that the answers have reached their limit, when so many keys of the lookup at the front of the input were
  /// answered. The parsers may have seen what comes after it, and begin anew.
  void hold_back(std::size_t keys);
  /// Returns true if the answers have reached their limit.
  [[nodiscard]] bool full() const { return unsent() >= limits_->most_output_bytes; }

 private:
  void begin_parsing();

  // Before it has said a password, a client has no need for more than that, as with redis.
  static constexpr std::size_t kStrangersWords = 10, kStrangersValueBytes = 16 << 10, kStrangersBytes = 64 << 10;

  [[nodiscard]] MemcachedLimits memcached_limits() const {
    const std::size_t most = admitted ? limits_->most_value_bytes : kStrangersValueBytes;
    MemcachedLimits limits{.most_value_bytes = std::min(most, limits_->most_value_bytes)};
    if (!admitted) limits.most_get_line_bytes = std::min(limits.most_get_line_bytes, kStrangersValueBytes);
    return limits;
  }
  [[nodiscard]] RespLimits resp_limits() const {
    if (!admitted) {
      return {.most_arguments = kStrangersWords,
              .most_bulk_bytes = kStrangersValueBytes,
              .most_command_bytes = kStrangersBytes};
    }
    // Four long values, or many short ones.
    const std::size_t most = std::max(4 * limits_->most_value_bytes, std::size_t{1} << 20);
    return {.most_bulk_bytes = limits_->most_value_bytes, .most_command_bytes = most};
  }

  u64 id_;
  const Limits* limits_;
  std::string in_;
  std::size_t used_ = 0;
  std::size_t sending_ = 0;  // bytes that the network has
  u64 skip_ = 0;
  bool ended_ = false;

 public:
  std::string out;
  bool admitted;
  bool closing = false;  ///< the input is not looked at any more; what is in `out` is still sent
  /// The input may have a whole command that is not answered yet, since the dialogue was full or had its share of a
  /// turn.
  bool waits = false;
  u64 moved = 0;                     ///< bytes of items that its commands have moved in this turn
  std::unique_ptr<HeldKeys> held;    ///< of the command at the front of the input
  std::size_t answered_keys = 0;     ///< of the lookup at the front of the input
  std::size_t answered_last = 0;     ///< those among them that were answered in the last turn
  std::size_t needed = 0;            ///< bytes of input before another look can get further
  std::optional<Protocol> protocol;  ///< nothing: no byte has come
  RespVersion resp_version = RespVersion::kResp2;
  std::string name;                   ///< of the client, by CLIENT SETNAME
  std::unique_ptr<Store::Walk> walk;  ///< that SCAN has begun
  u64 cursor = 0;                     ///< by which the client goes on with it
  MemcachedParser memcached;
  RespParser resp;
};

}  // namespace latchlab::kv
