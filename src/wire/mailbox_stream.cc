#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "src/arch/pause.h"
#include "src/wire/mailboxes.h"
#include "src/wire/stream.h"

namespace latchlab {

namespace {

using mailboxes::Box;
using mailboxes::State;

constexpr u32 kLooks = 20;         // before the client yields: it may be one of many on its processor
constexpr u32 kYields = 200;       // before it sleeps
constexpr u32 kMostSleepMs = 100;  // before it looks whether the server still lives

class MailboxStream final : public ByteStream {
 public:
  MailboxStream(mailboxes::Mapping mapping, u32 number, std::string server)
      : mapping_(std::move(mapping)),
        box_(mapping_.layout().box(number)),
        bell_(mapping_.layout().bells[number / mailboxes::kBoxes]),
        server_(std::move(server)),
        writer_(box_.to_server),
        reader_(box_.to_client) {}
  ~MailboxStream() override {
    // Acquire: pairs with the release of the server that ends the connection; this side then frees the box. Release:
    // pairs with the acquire of the server, which frees it otherwise.
    u64 now = box_.state.load(kAcquire);
    while (Box::state_of(now) != State::kEnded &&
           !box_.state.compare_exchange_weak(now, Box::pack(State::kLeft, Box::process_of(now)), kRelease, kAcquire)) {}
    if (Box::state_of(now) == State::kEnded) {
      box_.free();
    } else {
      bell_.ring();
    }
  }

  void send(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::optional<std::size_t> written = writer_.write(bytes);
      if (!written) throw ConnectionLost(server_ + ": the server has broken the mailbox");
      bytes.remove_prefix(*written);
      if (*written != 0) bell_.ring();
      if (!bytes.empty()) wait([&] { return writer_.has_room(); });
    }
  }

  [[nodiscard]] std::size_t receive(std::span<char> room) override {
    wait([&] { return reader_.has_bytes(); });
    const std::optional<std::string_view> there = reader_.look();
    if (!there) throw ConnectionLost(server_ + ": the server has broken the mailbox");
    const std::size_t count = std::min(room.size(), there->size());
    std::memcpy(room.data(), there->data(), count);
    reader_.drop(count);
    bell_.ring();  // the server may wait for room
    return count;
  }

 private:
  /// Waits until done(). Throws ConnectionLost if the server ends the connection before.
  template <class Done>
  void wait(const Done& done) {
    for (u32 looks = 0; !done(); ++looks) {
      // Acquire: pairs with the release of the server's end, before which it has written all that it says.
      if (Box::state_of(box_.state.load(kAcquire)) == State::kEnded && !done())
        throw ConnectionLost(server_ + ": the server has closed the connection");
      if (looks < kLooks) {
        pause_spin();
      } else if (looks < kLooks + kYields) {
        std::this_thread::yield();
      } else {
        box_.client.sleep(kMostSleepMs,
                          [&] { return done() || Box::state_of(box_.state.load(kRelaxed)) == State::kEnded; });
        if (!done() && !mapping_.server_lives()) throw ConnectionLost(server_ + ": the server has ended");
      }
    }
  }

  mailboxes::Mapping mapping_;
  Box& box_;
  mailboxes::Bell& bell_;
  const std::string server_;
  mailboxes::Writer writer_;
  mailboxes::Reader reader_;
};

/// Takes a free box, and returns its number; nothing if there is none.
std::optional<u32> take_box(mailboxes::Layout& layout) {
  const u64 asking = Box::pack(State::kAsking, static_cast<u32>(getpid()));
  // One box of each loop after the other, so that clients spread over the loops.
  for (u32 i = 0; i < mailboxes::kBoxes; ++i) {
    for (u32 loop = 0; loop < layout.loops; ++loop) {
      const u32 number = loop * mailboxes::kBoxes + i;
      u64 free = Box::pack(State::kFree, 0);
      // Acquire: pairs with the release that has freed the box. Nothing was written before that a release would
      // publish.
      if (!layout.box(number).state.compare_exchange_strong(free, asking, kAcquire, kRelaxed)) continue;
      layout.bells[loop].ring();
      return number;
    }
  }
  return std::nullopt;
}

/// Returns true if a process that has ended has a box. The server frees it soon.
bool any_client_is_dead(mailboxes::Layout& layout) {
  for (u32 number = 0; number < layout.loops * mailboxes::kBoxes; ++number) {
    const u64 packed = layout.box(number).state.load(kRelaxed);
    if (Box::state_of(packed) != State::kFree && !mailboxes::lives(Box::process_of(packed))) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<ByteStream> connect_mailbox(const Address& address) {
  constexpr std::chrono::milliseconds kPause(10);
  constexpr u32 kMostPauses = 300;  // a server frees the boxes of the dead when it has waited for 50 ms
  mailboxes::Mapping mapping = mailboxes::Mapping::of(address.path);
  for (u32 pauses = 0;; ++pauses) {
    if (const std::optional<u32> number = take_box(mapping.layout()))
      return std::make_unique<MailboxStream>(std::move(mapping), *number, address.text);
    if (pauses == kMostPauses || !any_client_is_dead(mapping.layout()))
      throw ConnectionLost("cannot connect to " + address.text + ": all its mailboxes are taken");
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace latchlab
