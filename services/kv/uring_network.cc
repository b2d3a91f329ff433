#include "services/kv/uring_network.h"

#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/base/error.h"

namespace latchlab::kv {

namespace {

constexpr unsigned kSubmissions = 512, kCompletions = 4096;  // that the rings hold
constexpr u16 kBuffers = 256;                                // for input, of all connections
constexpr u32 kBufferBytes = 4096;
constexpr u16 kBufferGroup = 0;

/// The rings that a thread shares with the kernel.
class Ring {
 public:
  Ring();
  ~Ring() { io_uring_queue_exit(&ring_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  io_uring* get() { return &ring_; }
  /// Returns a new operation, which the next wait hands to the kernel.
  io_uring_sqe* add(u64 data);

 private:
  io_uring ring_;
};

[[noreturn]] void refuse_ring(const std::string& why) {
  throw InputError("--events=io_uring: " + why + "; give --events=epoll");
}

Ring::Ring() {
  int status = 0;
  // The first are the fastest. Linux 6.0 has not all of them.
  for (const unsigned flags : {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, IORING_SETUP_COOP_TASKRUN}) {
    io_uring_params params{};
    params.flags = flags | IORING_SETUP_CQSIZE;
    params.cq_entries = kCompletions;
    status = io_uring_queue_init_params(kSubmissions, &ring_, &params);
    if (status != -EINVAL) break;
  }
  if (status == -EPERM || status == -EACCES)
    refuse_ring("the kernel permits no io_uring (sysctl kernel.io_uring_disabled, or a filter of system calls)");
  if (status < 0) refuse_ring(std::string("the kernel refuses io_uring: ") + std::strerror(-status));
  // A release that has this operation has multishot receives, which cannot be asked for.
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring_);
  const bool is_new = probe != nullptr && io_uring_opcode_supported(probe, IORING_OP_SEND_ZC) != 0;
  io_uring_free_probe(probe);
  if (is_new) return;
  io_uring_queue_exit(&ring_);
  refuse_ring("this kernel has no multishot receive, which Linux 6.0 has");
}

io_uring_sqe* Ring::add(u64 data) {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) {
    const int status = io_uring_submit(&ring_);
    entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) throw std::system_error(-status, std::generic_category(), "io_uring takes no operation");
  }
  io_uring_sqe_set_data64(entry, data);
  return entry;
}

class UringNetwork final : public Network {
 public:
  UringNetwork(const std::vector<Listener>& listeners, const Stop& stop);
  ~UringNetwork() override;

  void wait(u32 most_ms) override;
  void report(Observer& observer) override;
  Sent send(Place place, std::string& bytes) override;
  void want_input(Place place, bool wanted) override;
  void close(Place place) override;
  void stop_accepting() override;

 private:
  enum class Operation : u8 { kStop, kAccept, kReceive, kSend, kCancelAccept, kCancelReceive, kCancelSend };

  struct Connection {
    File file;
    std::string bytes;  ///< that are being sent, where the kernel reads them
    std::size_t sent = 0;
    bool open = false;
    bool broken = false;  ///< the loop knows that it is
    bool ended = false;
    bool wants_input = true;
    bool receives = false, sends = false;  ///< operations whose last completion has not come
  };

  /// Operations carry their kind, and their place or the number of their listener.
  static u64 data_of(Operation operation, u32 place) { return u64{place} << 8 | static_cast<u64>(operation); }

  void begin_accept(u32 listener);
  void begin_receive(Place place);
  void begin_send(Place place);
  void cancel(Operation operation, Operation cancelled, u32 place);

  void take(const io_uring_cqe& completion, Observer& observer);
  void take_accepted(u32 listener, const io_uring_cqe& completion, Observer& observer);
  void take_received(Place place, const io_uring_cqe& completion, Observer& observer);
  void take_sent(Place place, int result, Observer& observer);
  /// Looks at some connections for an end that their receive has missed. Linux 6.18 was seen to
  /// leave a receive waiting for ever after clients had reset their connections in the middle of long values.
  void check_receives();
  /// Repeats a cancellation that the operation has missed.
  void take_cancelled(Operation operation, u32 place);
  void fail(Place place, Observer& observer);
  [[nodiscard]] Place free_place();
  /// Gives a closed connection's place, file and memory free, if no operation uses them.
  void free_if_done(Place place);

  char* buffer(u16 number) { return input_.get() + std::size_t{number} * kBufferBytes; }
  /// Gives a buffer to the kernel, as the one after those that were given since the last advance.
  void give_buffer(u16 number);
  void advance_buffers();

  // The kernel takes a page for the ring of buffers.
  struct alignas(4096) Entries {
    std::array<io_uring_buf, kBuffers> all;
  };
  static_assert(sizeof(io_uring_buf) * kBuffers == 4096);

  const std::vector<Listener> listeners_;
  const std::unique_ptr<char[]> input_;
  const std::unique_ptr<Entries> entries_;
  std::deque<Connection> connections_;  // by their places; they must not move while the kernel reads their bytes
  std::vector<Place> free_places_;
  std::size_t operations_ = 0;                  // that have not ended, without cancellations
  int given_ = 0;                               // buffers since the last advance
  static constexpr std::size_t kChecked = 256;  // connections, at a time
  static constexpr u32 kWaitsToCheck = 256;     // if the loop is never idle
  std::size_t checked_ = 0;                     // the place of the last one
  u32 waits_ = 0;
  bool accepts_ = true;
  Ring ring_;  // ends before the memory that it uses
};

UringNetwork::UringNetwork(const std::vector<Listener>& listeners, const Stop& stop)
    : listeners_(listeners),
      input_(std::make_unique_for_overwrite<char[]>(std::size_t{kBuffers} * kBufferBytes)),
      entries_(std::make_unique<Entries>()) {
  io_uring_buf_reg ring{};
  ring.ring_addr = reinterpret_cast<u64>(entries_.get());
  ring.ring_entries = kBuffers;
  ring.bgid = kBufferGroup;
  const int status = io_uring_register_buf_ring(ring_.get(), &ring, 0);
  if (status < 0) refuse_ring(std::string("the kernel refuses a ring of buffers: ") + std::strerror(-status));
  for (u16 i = 0; i < kBuffers; ++i) give_buffer(i);
  advance_buffers();
  io_uring_prep_poll_add(ring_.add(data_of(Operation::kStop, 0)), stop.file(), POLLIN);
  ++operations_;
  for (u32 i = 0; i < listeners_.size(); ++i) {
    // The kernel ends an accept at once, instead of waiting, if the listener does not block.
    fcntl(listeners_[i].file, F_SETFL, fcntl(listeners_[i].file, F_GETFL) & ~O_NONBLOCK);
    begin_accept(i);
  }
}

UringNetwork::~UringNetwork() {
  // The kernel may read and write the memory of operations until their last completions.
  while (operations_ != 0) {
    io_uring_prep_cancel64(ring_.add(data_of(Operation::kCancelAccept, 0)), 0, IORING_ASYNC_CANCEL_ANY);
    const int status = io_uring_submit_and_wait(ring_.get(), 1);
    if (status < 0 && status != -EINTR) std::terminate();
    io_uring_cqe* completion = nullptr;
    while (io_uring_peek_cqe(ring_.get(), &completion) == 0) {
      const auto operation = static_cast<Operation>(completion->user_data & 0xff);
      if (operation == Operation::kAccept && completion->res >= 0) File(completion->res);
      if ((completion->flags & IORING_CQE_F_MORE) == 0 && operation < Operation::kCancelAccept) --operations_;
      io_uring_cqe_seen(ring_.get(), completion);
    }
  }
}

void UringNetwork::wait(u32 most_ms) {
  int status = 0;
  if (most_ms == 0) {
    status = io_uring_submit_and_get_events(ring_.get());
  } else {
    __kernel_timespec time{.tv_sec = most_ms / 1000, .tv_nsec = i64{most_ms % 1000} * 1'000'000};
    io_uring_cqe* first = nullptr;
    status = io_uring_submit_and_wait_timeout(ring_.get(), &first, 1, &time, nullptr);
  }
  // EBUSY and EAGAIN: the kernel goes on once completions are taken, or memory is free.
  if (status == -ETIME || ++waits_ % kWaitsToCheck == 0) check_receives();
  if (status < 0 && status != -ETIME && status != -EINTR && status != -EBUSY && status != -EAGAIN)
    throw std::system_error(-status, std::generic_category(), "io_uring");
}

void UringNetwork::check_receives() {
  const std::size_t most = std::min<std::size_t>(connections_.size(), kChecked);
  for (std::size_t i = 0; i < most; ++i) {
    checked_ = (checked_ + 1) % connections_.size();
    const Connection& connection = connections_[checked_];
    if (!connection.open || !connection.receives || connection.ended) continue;
    char byte = 0;
    const ssize_t got = recv(connection.file.number(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    const bool over = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    // The receive ends, begins again, and finds the end.
    if (over) cancel(Operation::kCancelReceive, Operation::kReceive, static_cast<Place>(checked_));
  }
}

void UringNetwork::report(Observer& observer) {
  // Those that come meanwhile are left to the next report.
  for (unsigned left = io_uring_cq_ready(ring_.get()); left != 0; --left) {
    io_uring_cqe* first = nullptr;
    if (io_uring_peek_cqe(ring_.get(), &first) != 0) break;
    const io_uring_cqe completion = *first;
    io_uring_cqe_seen(ring_.get(), first);
    take(completion, observer);
  }
  advance_buffers();
}

void UringNetwork::take(const io_uring_cqe& completion, Observer& observer) {
  const auto operation = static_cast<Operation>(completion.user_data & 0xff);
  const auto place = static_cast<u32>(completion.user_data >> 8);
  const bool last = (completion.flags & IORING_CQE_F_MORE) == 0;
  if (last && operation < Operation::kCancelAccept) --operations_;
  switch (operation) {
    case Operation::kStop: return;  // It was there to wake the loop.
    case Operation::kAccept: return take_accepted(place, completion, observer);
    case Operation::kReceive: return take_received(place, completion, observer);
    case Operation::kSend: return take_sent(place, completion.res, observer);
    case Operation::kCancelAccept:
    case Operation::kCancelReceive:
    case Operation::kCancelSend:
      if (completion.res < 0) take_cancelled(operation, place);
  }
}

void UringNetwork::begin_accept(u32 listener) {
  io_uring_prep_multishot_accept(ring_.add(data_of(Operation::kAccept, listener)), listeners_[listener].file, nullptr,
                                 nullptr, SOCK_CLOEXEC);
  ++operations_;
}

void UringNetwork::take_accepted(u32 listener, const io_uring_cqe& completion, Observer& observer) {
  if ((completion.flags & IORING_CQE_F_MORE) == 0 && accepts_) begin_accept(listener);
  if (completion.res < 0) return;
  File file(completion.res);
  if (!accepts_) return;
  send_at_once(file, listeners_[listener]);
  const Place place = free_place();
  const std::string_view refusal = observer.accepted(place);
  if (!refusal.empty()) {
    [[maybe_unused]] const auto said =
        ::send(file.number(), refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    free_places_.push_back(place);
    return;
  }
  connections_[place].file = std::move(file);
  connections_[place].open = true;
  begin_receive(place);
}

Network::Place UringNetwork::free_place() {
  if (free_places_.empty()) {
    connections_.emplace_back();
    return static_cast<Place>(connections_.size() - 1);
  }
  const Place place = free_places_.back();
  free_places_.pop_back();
  return place;
}

void UringNetwork::begin_receive(Place place) {
  Connection& connection = connections_[place];
  io_uring_sqe* const entry = ring_.add(data_of(Operation::kReceive, place));
  io_uring_prep_recv_multishot(entry, connection.file.number(), nullptr, 0, 0);
  entry->flags |= IOSQE_BUFFER_SELECT;
  entry->buf_group = kBufferGroup;
  connection.receives = true;
  ++operations_;
}

void UringNetwork::take_received(Place place, const io_uring_cqe& completion, Observer& observer) {
  Connection& connection = connections_[place];
  const int result = completion.res;
  connection.receives = (completion.flags & IORING_CQE_F_MORE) != 0;
  if ((completion.flags & IORING_CQE_F_BUFFER) != 0) {
    const auto number = static_cast<u16>(completion.flags >> IORING_CQE_BUFFER_SHIFT);
    if (connection.open && !connection.broken && result > 0)
      observer.received(place, {buffer(number), static_cast<std::size_t>(result)});
    give_buffer(number);
  }
  if (!connection.open) return free_if_done(place);
  if (connection.broken) return;
  if (result == 0) {
    connection.ended = true;
    observer.ended(place);
  } else if (result < 0 && result != -ENOBUFS && result != -ECANCELED && result != -EINTR && result != -EAGAIN) {
    return fail(place, observer);
  }
  if (connection.wants_input && !connection.receives && !connection.ended) begin_receive(place);
}

void UringNetwork::want_input(Place place, bool wanted) {
  Connection& connection = connections_[place];
  connection.wants_input = wanted;
  if (!wanted && connection.receives) cancel(Operation::kCancelReceive, Operation::kReceive, place);
  // A receive that is being cancelled begins again after its last completion.
  if (wanted && !connection.receives && !connection.ended) begin_receive(place);
}

Network::Sent UringNetwork::send(Place place, std::string& bytes) {
  Connection& connection = connections_[place];
  connection.bytes = std::exchange(bytes, {});
  connection.sent = 0;
  begin_send(place);
  return {};
}

void UringNetwork::begin_send(Place place) {
  Connection& connection = connections_[place];
  const std::string_view rest = std::string_view(connection.bytes).substr(connection.sent);
  io_uring_prep_send(ring_.add(data_of(Operation::kSend, place)), connection.file.number(), rest.data(), rest.size(),
                     MSG_NOSIGNAL);
  connection.sends = true;
  ++operations_;
}

void UringNetwork::take_sent(Place place, int result, Observer& observer) {
  Connection& connection = connections_[place];
  connection.sends = false;
  if (!connection.open) return free_if_done(place);
  if (connection.broken) return;
  if (result < 0 && result != -EINTR && result != -EAGAIN) return fail(place, observer);
  const auto sent = static_cast<std::size_t>(result < 0 ? 0 : result);
  connection.sent += sent;
  if (connection.sent < connection.bytes.size()) {
    begin_send(place);
    return observer.sent(place, sent, connection.bytes);
  }
  std::string buffer = std::exchange(connection.bytes, {});
  observer.sent(place, sent, buffer);
}

void UringNetwork::fail(Place place, Observer& observer) {
  connections_[place].broken = true;
  observer.failed(place);
}

void UringNetwork::close(Place place) {
  Connection& connection = connections_[place];
  connection.open = false;
  if (connection.receives) cancel(Operation::kCancelReceive, Operation::kReceive, place);
  if (connection.sends) cancel(Operation::kCancelSend, Operation::kSend, place);
  free_if_done(place);
}

void UringNetwork::free_if_done(Place place) {
  Connection& connection = connections_[place];
  if (connection.receives || connection.sends) return;
  // Moved out, since an assignment to a string may keep the memory that it has.
  [[maybe_unused]] const Connection closed = std::exchange(connection, {});
  free_places_.push_back(place);
}

void UringNetwork::stop_accepting() {
  accepts_ = false;
  for (u32 i = 0; i < listeners_.size(); ++i) cancel(Operation::kCancelAccept, Operation::kAccept, i);
}

void UringNetwork::cancel(Operation operation, Operation cancelled, u32 place) {
  io_uring_prep_cancel64(ring_.add(data_of(operation, place)), data_of(cancelled, place), 0);
}

void UringNetwork::take_cancelled(Operation operation, u32 place) {
  // The place may be another connection's by now, which is to go on.
  if (operation == Operation::kCancelAccept) return;
  const Connection& connection = connections_[place];
  const bool receive = operation == Operation::kCancelReceive;
  const bool goes_on = receive ? connection.receives : connection.sends;
  const bool may = connection.open && (!receive || connection.wants_input);
  if (goes_on && !may) cancel(operation, receive ? Operation::kReceive : Operation::kSend, place);
}

void UringNetwork::give_buffer(u16 number) {
  io_uring_buf_ring_add(reinterpret_cast<io_uring_buf_ring*>(entries_.get()), buffer(number), kBufferBytes, number,
                        io_uring_buf_ring_mask(kBuffers), given_++);
}

void UringNetwork::advance_buffers() {
  io_uring_buf_ring_advance(reinterpret_cast<io_uring_buf_ring*>(entries_.get()), std::exchange(given_, 0));
}

}  // namespace

void check_uring() { const Ring ring; }

std::unique_ptr<Network> make_uring_network(const std::vector<Listener>& listeners, const Stop& stop) {
  return std::make_unique<UringNetwork>(listeners, stop);
}

}  // namespace latchlab::kv
