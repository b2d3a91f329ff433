#include "services/kv/mailbox_network.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "src/arch/pause.h"

namespace latchlab::kv {

using mailboxes::Box;
using mailboxes::State;

namespace {

constexpr u32 kLooks = 2000;           // before a wait yields
constexpr u32 kYields = 200;           // before it sleeps
constexpr u32 kMostSleepMs = 50;       // before it looks at the stop, which rings no bell
constexpr u32 kWaitsPerBurial = 4096;  // that found news at once

}  // namespace

MailboxNetwork::MailboxNetwork(mailboxes::Layout& layout, u32 loop, const Stop& stop)
    : boxes_(&layout.box(loop * mailboxes::kBoxes)), bell_(layout.bells[loop]), stop_(stop) {}

MailboxNetwork::~MailboxNetwork() {
  for (Place place = 0; place < mailboxes::kBoxes; ++place) {
    // Acquire: pairs with the client's release of its box.
    if (Box::state_of(box(place).state.load(kAcquire)) != State::kFree) end(place);
  }
}

bool MailboxNetwork::has_news(Place place) const {
  const Connection& connection = connections_[place];
  const State state = Box::state_of(box(place).state.load(kRelaxed));
  if (!connection.open) return state == State::kAsking || state == State::kLeft;
  if (connection.broken) return false;
  return (connection.wants_input && connection.reader.has_bytes()) ||
         (!connection.bytes.empty() && connection.writer.has_room()) || state == State::kLeft;
}

bool MailboxNetwork::any_news() const {
  for (Place place = 0; place < mailboxes::kBoxes; ++place) {
    if (has_news(place)) return true;
  }
  return false;
}

void MailboxNetwork::wait(u32 most_ms) {
  if (++waits_ % kWaitsPerBurial == 0) bury();
  for (u32 looks = 0; looks < kLooks + kYields; ++looks) {
    if (any_news() || most_ms == 0) return;
    if (looks < kLooks) {
      pause_spin();
    } else {
      std::this_thread::yield();
    }
  }
  bell_.sleep(std::min(most_ms, kMostSleepMs), [&] { return any_news() || stop_.asked(); });
  bury();
}

void MailboxNetwork::report(Observer& observer) {
  for (Place place = 0; place < mailboxes::kBoxes; ++place) {
    if (has_news(place)) report_of(place, observer);
  }
}

void MailboxNetwork::report_of(Place place, Observer& observer) {
  Connection& connection = connections_[place];
  // Acquire: pairs with the client's release of the box that it leaves.
  const u64 packed = box(place).state.load(kAcquire);
  if (!connection.open) {
    if (Box::state_of(packed) == State::kLeft) return box(place).free();
    return accept(place, packed, observer);
  }
  if (connection.wants_input) {
    // Twice, since the bytes may go round the end of the ring.
    for (u32 part = 0; part < 2; ++part) {
      const std::optional<std::string_view> bytes = connection.reader.look();
      if (!bytes) return fail(place, observer);
      if (bytes->empty()) break;
      observer.received(place, *bytes);
      connection.reader.drop(bytes->size());
      box(place).client.ring();  // the client may wait for room
    }
  }
  if (Box::state_of(packed) == State::kLeft) return fail(place, observer);
  if (connection.bytes.empty()) return;
  const std::optional<std::size_t> sent =
      connection.writer.write(std::string_view(connection.bytes).substr(connection.sent));
  if (!sent) return fail(place, observer);
  box(place).client.ring();
  connection.sent += *sent;
  if (connection.sent < connection.bytes.size()) return observer.sent(place, *sent, connection.bytes);
  std::string buffer = std::exchange(connection.bytes, {});
  observer.sent(place, *sent, buffer);
}

void MailboxNetwork::accept(Place place, u64 packed, Observer& observer) {
  if (!accepts_) return end(place);
  Connection& connection = connections_[place];
  connection = {.open = true,
                .reader = mailboxes::Reader(box(place).to_server),
                .writer = mailboxes::Writer(box(place).to_client),
                .bytes = {}};
  const std::string_view refusal = observer.accepted(place);
  if (!refusal.empty()) {
    (void)connection.writer.write(refusal);
    connection.open = false;
    return end(place);
  }
  // The client may have left meanwhile: then the state stays, and is reported next. Relaxed: nothing was written.
  box(place).state.compare_exchange_strong(packed, Box::pack(State::kOpen, Box::process_of(packed)), kRelaxed);
}

void MailboxNetwork::fail(Place place, Observer& observer) {
  connections_[place].broken = true;
  observer.failed(place);
}

Network::Sent MailboxNetwork::send(Place place, std::string& bytes) {
  Connection& connection = connections_[place];
  const std::optional<std::size_t> sent = connection.writer.write(bytes);
  if (!sent) return {.failed = true};
  box(place).client.ring();
  if (*sent < bytes.size()) {
    connection.bytes = std::exchange(bytes, {});
    connection.sent = *sent;
  }
  return {.bytes = *sent};
}

void MailboxNetwork::close(Place place) {
  connections_[place] = {};
  end(place);
}

void MailboxNetwork::end(Place place) {
  // Acquire and release: as in the client's end (mailbox_stream.cc).
  u64 now = box(place).state.load(kAcquire);
  while (Box::state_of(now) != State::kLeft &&
         !box(place).state.compare_exchange_weak(now, Box::pack(State::kEnded, Box::process_of(now)), kRelease,
                                                 kAcquire)) {}
  if (Box::state_of(now) == State::kLeft) {
    box(place).free();
  } else {
    box(place).client.ring();
  }
}

void MailboxNetwork::bury() {
  for (Place place = 0; place < mailboxes::kBoxes; ++place) {
    u64 packed = box(place).state.load(kRelaxed);
    const State state = Box::state_of(packed);
    if (state == State::kFree || state == State::kLeft || mailboxes::lives(Box::process_of(packed))) continue;
    if (state == State::kEnded) {
      box(place).free();
    } else {
      // Relaxed: a dead client writes nothing more.
      box(place).state.compare_exchange_strong(packed, Box::pack(State::kLeft, Box::process_of(packed)), kRelaxed);
    }
  }
}

}  // namespace latchlab::kv
