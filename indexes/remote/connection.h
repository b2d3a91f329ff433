#pragma once
// The bytes of one connection, on the way out and on the way in.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "indexes/remote/client.h"
#include "src/base/printable.h"
#include "src/wire/parsed.h"
#include "src/wire/stream.h"

namespace latchlab::remote {

/// Connects by the options' transport. Throws ConnectionLost.
[[nodiscard]] std::unique_ptr<ByteStream> connect_stream(const Options& options, const Address& address);

class Connection {
 public:
  Connection(std::unique_ptr<ByteStream> stream, std::string server)
      : stream_(std::move(stream)), server_(std::move(server)), room_(kRoom, '\0') {}

  /// Requests to send: dialects append to it.
  std::string& out() { return out_; }
  void send() {
    stream_->send(out_);
    out_.clear();
  }

  /// Returns when parse(bytes) has parsed one answer at the front of the bytes that have come. What it has parsed is
  /// valid until the next call.
  template <class Parse>
  void hear(const Parse& parse) {
    for (;;) {
      const std::string_view bytes(room_.data() + begin_, end_ - begin_);
      const Parsed parsed = bytes.empty() ? Parsed::needs(1) : parse(bytes);
      if (parsed.status == ParseStatus::kCommand) {
        begin_ += parsed.used;
        return;
      }
      if (parsed.status == ParseStatus::kError) refuse(parsed.answer);
      receive(parsed.needed);
    }
  }

  /// Throws RemoteError.
  [[noreturn]] void refuse(std::string_view why) const { throw RemoteError(server_ + ": " + printable(why)); }

 private:
  static constexpr std::size_t kRoom = std::size_t{64} << 10;

  /// Receives bytes. There shall be room for `needed` in all.
  void receive(std::size_t needed) {
    if (begin_ == end_) begin_ = end_ = 0;
    if (begin_ != 0 && begin_ + needed > room_.size()) {
      room_.replace(0, end_ - begin_, room_, begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == room_.size() || needed > room_.size()) room_.resize(std::max(2 * room_.size(), needed));
    end_ += stream_->receive({room_.data() + end_, room_.size() - end_});
  }

  const std::unique_ptr<ByteStream> stream_;
  const std::string server_;
  std::string out_, room_;
  std::size_t begin_ = 0, end_ = 0;  // of the bytes in room_ that are not parsed yet
};

}  // namespace latchlab::remote
