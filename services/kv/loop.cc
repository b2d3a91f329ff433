#include "services/kv/loop.h"

#include <utility>

#include "services/kv/clock.h"

namespace latchlab::kv {

namespace {

constexpr u32 kMostWait = 1000;          // milliseconds, for the work of every second
constexpr std::size_t kSweptItems = 64;  // that the store looks at for dead ones at a time
constexpr u32 kSweeps = 64;              // such looks a second
constexpr u32 kSweepsOfTurn = 4;         // between turns, while they find many
constexpr std::size_t kManyDead = 64;    // one in so many items that are looked at: then more looks are worth it
constexpr u32 kLeastPasses = 4;          // of a round of draining
constexpr u32 kConnectionsOfPass = 16;   // at least, of which a pass of any network brings input
constexpr std::string_view kTooMany = "ERROR Too many open connections\r\n";

}  // namespace

Loop::Loop(Server& server, std::unique_ptr<Network> network, const Stop& stop)
    : server_(server),
      session_(server.store().join()),
      counts_(server.add_counts()),
      turn_(server, *session_, counts_),
      now_(present()),
      network_(std::move(network)),
      stop_(stop) {}

Loop::~Loop() = default;

void Loop::run() {
  for (;;) {
    wait();
    answer_ready();
    if (sweeping_) sweep(kSweepsOfTurn);
    if (now_.second != swept_) every_second();
    if (takes_rest_) drain();
    if (!draining_ && stop_.asked()) begin_draining();  // behind: the network is asked once more before it ends
    if (draining_ && (open_ == 0 || now_.second > drain_until_)) return;
  }
}

void Loop::wait() {
  const bool busy = !ready_.empty();
  if (!busy && !sweeping_) session_->idle();
  network_->wait(busy || takes_rest_ || sweeping_ ? 0 : kMostWait);
  now_ = present();
  news_ = false;
  turn_.stopwatch().begin();
  network_->report(*this);
  turn_.stopwatch().lap<&KvCounters::receive_ns>();
}

void Loop::begin_draining() {
  draining_ = true;
  drain_until_ = now_.second + server_.options().limits.drain_seconds;
  takes_rest_ = true;
  begin_round();
}

void Loop::drain() {
  if (news_ && --passes_ != 0) return;
  if (round_ == 1) network_->stop_accepting();
  takes_rest_ = false;
  for (const auto& connection : connections_) {
    if (connection == nullptr || connection->dialogue.input_ended()) continue;
    if (connection->heard == round_) {
      takes_rest_ = true;
    } else {
      connection->dialogue.end_input();
      make_ready(*connection);
    }
  }
  begin_round();
  answer_ready();
}

void Loop::begin_round() {
  ++round_;
  passes_ = kLeastPasses + static_cast<u32>(open_ / kConnectionsOfPass);
}

std::string_view Loop::accepted(Network::Place place) {
  counts_.add<&KvCounters::total_connections>();
  if (!server_.admit_connection()) {
    counts_.add<&KvCounters::rejected_connections>();
    counts_.add<&KvCounters::closed_connections>();
    return kTooMany;
  }
  if (connections_.size() <= place) connections_.resize(place + 1);
  const bool admitted = !server_.options().secrets.has_value();
  connections_[place] =
      std::make_unique<Connection>(place, server_.next_id(), server_.options().limits, admitted, now_);
  connections_[place]->heard = round_;
  news_ = true;
  ++open_;
  return {};
}

void Loop::received(Network::Place place, std::string_view bytes) {
  Connection& connection = *connections_[place];
  connection.active = now_.second;
  connection.heard = round_;
  news_ = true;
  counts_.add<&KvCounters::bytes_read>(bytes.size());
  try {
    connection.dialogue.receive(bytes);
  } catch (const std::bad_alloc&) {
    connection.dialogue.abandon();
  }
  make_ready(connection);
}

void Loop::ended(Network::Place place) {
  news_ = true;
  connections_[place]->dialogue.end_input();
  make_ready(*connections_[place]);
}

void Loop::failed(Network::Place place) {
  connections_[place]->dialogue.abandon();
  make_ready(*connections_[place]);
}

void Loop::sent(Network::Place place, std::size_t bytes, std::string& buffer) {
  news_ = true;
  Connection& connection = *connections_[place];
  note_sent(connection, bytes, buffer);
  const Dialogue& dialogue = connection.dialogue;
  // An answer that is sent late is often the only one, and leaves nothing to do.
  if (!dialogue.out.empty() || dialogue.waits || dialogue.over() || !connection.wants_input) make_ready(connection);
}

void Loop::make_ready(Connection& connection) {
  if (std::exchange(connection.ready, true)) return;
  ready_.push_back(&connection);
}

void Loop::answer_ready() {
  if (ready_.empty()) return;
  dialogues_.clear();
  for (Connection* const connection : ready_) dialogues_.push_back(&connection->dialogue);
  turn_.answer(dialogues_, now_);
  counts_.add<&KvCounters::turns>();
  const std::vector<Connection*> answered = std::exchange(ready_, {});
  for (Connection* const connection : answered) {
    connection->ready = false;
    send_to(*connection);
  }
  turn_.stopwatch().lap<&KvCounters::send_ns>();
}

void Loop::send_to(Connection& connection) {
  Dialogue& dialogue = connection.dialogue;
  if (!dialogue.sending() && !dialogue.out.empty()) {
    dialogue.begin_sending();
    const Network::Sent sent = network_->send(connection.place, dialogue.out);
    if (sent.failed) {
      dialogue.abandon();
    } else if (sent.bytes != 0) {
      note_sent(connection, sent.bytes, dialogue.out);
    }
  }
  if (dialogue.over()) return close(connection);
  if (dialogue.waits && !dialogue.full()) make_ready(connection);
  const bool wanted = dialogue.wants_input();
  if (wanted != std::exchange(connection.wants_input, wanted)) network_->want_input(connection.place, wanted);
}

void Loop::note_sent(Connection& connection, std::size_t bytes, std::string& buffer) {
  connection.active = now_.second;
  counts_.add<&KvCounters::bytes_written>(bytes);
  connection.dialogue.sent(bytes, buffer);
}

void Loop::close(Connection& connection) {
  counts_.add<&KvCounters::closed_connections>();
  server_.end_connection();
  --open_;
  network_->close(connection.place);
  connections_[connection.place].reset();
}

void Loop::sweep(u32 looks) {
  Swept all;
  for (u32 i = 0; i < looks; ++i) {
    const Swept swept = session_->sweep(kSweptItems, now_);
    all.looked += swept.looked;
    all.removed += swept.removed;
  }
  sweeping_ = !draining_ && all.removed != 0 && all.removed * kManyDead >= all.looked;
}

void Loop::every_second() {
  swept_ = now_.second;
  sweep(kSweeps);
  const Limits& limits = server_.options().limits;
  for (const auto& connection : connections_) {
    if (connection == nullptr || connection->ready) continue;
    const u32 silent = now_.second - connection->active;
    const bool stalled = connection->dialogue.unsent() != 0 && silent > limits.stall_seconds;
    const bool idle = limits.idle_seconds != 0 && silent > limits.idle_seconds;
    if (!stalled && !idle) continue;
    counts_.add<&KvCounters::idle_kicks>();
    close(*connection);
  }
}

}  // namespace latchlab::kv
