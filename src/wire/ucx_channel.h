#pragma once

// A connection by UCX, as server and client both use it: two streams of bytes that are sent as active messages.
//
//     a message    | offset | taken | last |  bytes of the stream, up to kPieceBytes  |
//
//     offset    how many bytes of the stream come before it
//     taken     how many bytes of the other stream its reader has taken, so that the other side may send more
//     last      the other side sends nothing more, and waits for this one to leave
//
//   1. A message is sent eagerly, on one lane of the endpoint (UCX_MAX_EAGER_RAILS), so messages arrive in their order.
//      The offset proves it: a channel whose messages skip is broken.
//   2. A side sends at most kWindowBytes that the other has not taken. So each side keeps a bounded part of memory for
//   a
//      channel, whatever the other does. A side that sends more is broken.
//   3. The server sends an empty message when it has accepted. Only then is a client connected.
//   4. UCX reads a message until it calls back. So its bytes, and the channel, live until then.
//
// One thread at a time uses a worker and its channels. UCX calls back within `progress` alone.
//
// This file needs UCX (cmake/dependencies.cmake).

#include <ucp/api/ucp.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/types.h"

namespace latchlab::ucx {

inline constexpr std::size_t kWindowBytes = std::size_t{1} << 17;
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 14;

/// A call of UCX that has failed. The text is one line.
struct UcxError : std::runtime_error {
  UcxError(std::string_view what, ucs_status_t status);
};

class Channel;

/// The part of UCX that one thread uses, with its transports, which UCX_TLS chooses.
class Worker {
 public:
  /// Throws UcxError.
  Worker();
  /// Its channels have ended.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] ucp_worker_h get() const { return worker_; }
  /// Moves messages, and calls back. Returns false if there was nothing to do.
  bool progress() { return ucp_worker_progress(worker_) != 0; }
  /// Waits until there is something to do, `file` is readable, or the time is over. A file of -1 is none.
  void sleep(int file, u32 most_ms);
  [[nodiscard]] bool has_changed() const { return !changed_.empty(); }
  /// Returns the channels that have changed since the last call, each once.
  [[nodiscard]] std::vector<Channel*> take_changed();

 private:
  friend class Channel;
  static ucs_status_t take_message(void* worker, const void* head, std::size_t head_bytes, void* data,
                                   std::size_t bytes, const ucp_am_recv_param_t* how);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int file_ = -1;  // of the worker, which closes it
  std::unordered_map<ucp_ep_h, Channel*> channels_;
  std::vector<Channel*> changed_;
};

class Channel {
 public:
  /// Makes the endpoint that `how` describes, apart from its handling of errors. The worker outlives the channel.
  /// Throws UcxError.
  Channel(Worker& worker, ucp_ep_params_t how);
  /// Ends the connection at once, if end() has not. Works for the worker until UCX does not use the channel any more.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Sends these bytes, which stay where they are until all are sent. The channel has none to send.
  void send(std::string_view bytes);
  /// Sends a message without bytes, which says that the other side is connected.
  void greet();
  /// Says that nothing more is sent, after the bytes that the channel has to send.
  void finish();
  /// Returns how many bytes were sent since the last call.
  [[nodiscard]] std::size_t take_sent();
  /// Returns true if all bytes are sent, and UCX reads none of them.
  [[nodiscard]] bool all_sent() const { return rest_.empty(); }

  /// The bytes that have come and are not taken.
  [[nodiscard]] std::string_view input() const { return std::string_view(input_).substr(taken_of_input_); }
  /// Takes bytes at the front of the input, so that the other side may send more.
  void take(std::size_t bytes);

  /// Returns true if the other side has said anything.
  [[nodiscard]] bool greeted() const { return greeted_; }
  /// Returns true if the other side sends nothing more.
  [[nodiscard]] bool finished() const { return other_finished_; }
  /// Returns true if the connection is over, in both directions. Input that has come stays.
  [[nodiscard]] bool broken() const { return broken_; }

  /// Begins to end the connection. What is not sent is lost.
  void end();
  /// Returns true if UCX does not use the channel any more, after end().
  [[nodiscard]] bool ended();

 private:
  friend class Worker;

  struct Head {
    u64 offset, taken, last;
  };

  void take_message(const Head& head, std::string_view bytes);
  /// Sends what may be sent now: a piece, or how much was taken.
  void push();
  void note_posted(ucs_status_t status);
  void fail();
  void note_change();

  Worker& worker_;
  ucp_ep_h endpoint_ = nullptr;
  ucs_status_ptr_t ending_ = nullptr;  // the request of end(), while it goes on
  bool ends_ = false, broken_ = false, noted_ = false;

  std::string_view rest_;         // to send, with the bytes of the posted message
  u64 sent_ = 0, confirmed_ = 0;  // bytes of the stream; those that the other side has taken
  std::size_t sent_lately_ = 0;
  Head head_{};                // of the posted message
  std::size_t piece_ = 0;      // its bytes
  bool posted_ = false;        // UCX reads a message
  bool owes_message_ = false;  // to greet, or to finish
  bool finishes_ = false;

  std::string input_;
  std::size_t taken_of_input_ = 0;
  u64 received_ = 0, taken_ = 0,
      told_ = 0;  // bytes of the other stream; told_: how many taken ones the other side knows
  bool greeted_ = false, other_finished_ = false;
};

}  // namespace latchlab::ucx
