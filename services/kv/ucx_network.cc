#include "services/kv/ucx_network.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/arch/pause.h"
#include "src/base/error.h"
#include "src/wire/ucx_channel.h"

namespace latchlab::kv {

namespace {

constexpr u32 kUcxLooks = 200;            // before a wait yields; over TCP each is a call of the kernel
constexpr u32 kUcxYields = 200;           // before it sleeps
constexpr u32 kMostSteps = 64;            // of UCX in one wait, so that clients are answered while others send
constexpr std::size_t kMostLeaving = 64;  // connections that wait for their clients to leave
constexpr std::chrono::milliseconds kMostForLeaving{200};  // at the server's end

/// A listener, its worker, and the clients that have asked.
class UcxPlace final : public UcxListener {
 public:
  explicit UcxPlace(const Address& address);
  ~UcxPlace() override { stop_listening(); }

  std::unique_ptr<Network> network(const Stop& stop) override;

  ucx::Worker& worker() { return worker_; }
  [[nodiscard]] bool has_requests() const { return !requests_.empty(); }
  [[nodiscard]] std::vector<ucp_conn_request_h> take_requests() { return std::exchange(requests_, {}); }
  void stop_listening();

 private:
  ucx::Worker worker_;
  std::vector<ucp_conn_request_h> requests_;
  ucp_listener_h listener_ = nullptr;
};

class UcxNetwork final : public Network {
 public:
  UcxNetwork(UcxPlace& place, const Stop& stop) : listener_(place), worker_(place.worker()), stop_(stop) {}
  /// Ends all connections.
  ~UcxNetwork() override;
  UcxNetwork(const UcxNetwork&) = delete;
  UcxNetwork& operator=(const UcxNetwork&) = delete;

  void wait(u32 most_ms) override;
  void report(Observer& observer) override;
  Sent send(Place place, std::string& bytes) override;
  void want_input(Place place, bool wanted) override;
  void close(Place place) override;
  void stop_accepting() override { listener_.stop_listening(); }

 private:
  struct Connection {
    Connection(ucx::Worker& worker, const ucp_ep_params_t& how, Place its_place)
        : channel(worker, how), place(its_place) {}
    std::string bytes;  // that are being sent; they outlive the channel
    ucx::Channel channel;
    const Place place;
    bool wants_input = true;
    bool failed = false;  // the loop knows that it is broken
  };

  void accept(ucp_conn_request_h request, Observer& observer);
  void report_of(Connection& connection, Observer& observer);
  /// Ends the connection, at once or when the client leaves, if all was sent.
  void let_go(std::unique_ptr<Connection> connection);
  /// Says that nothing more is sent, and waits for the client to leave.
  void let_leave(std::unique_ptr<Connection> connection);
  /// Forgets connections that UCX does not use any more.
  void bury();

  UcxPlace& listener_;
  ucx::Worker& worker_;
  const Stop& stop_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by their places
  std::vector<Place> free_places_;
  std::unordered_map<const ucx::Channel*, Connection*> by_channel_;
  std::vector<Place> woken_;  // whose input is wanted again
  std::deque<std::unique_ptr<Connection>> leaving_;
};

UcxPlace::UcxPlace(const Address& address) {
  const KernelAddress name = kernel_address(address).value();
  ucp_listener_params_t how{};
  how.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  how.sockaddr = {.addr = name.get(), .addrlen = name.size};
  // UCX calls it within progress, where no endpoint is made yet.
  how.conn_handler.cb = [](ucp_conn_request_h request, void* place) {
    static_cast<UcxPlace*>(place)->requests_.push_back(request);
  };
  how.conn_handler.arg = this;
  if (const ucs_status_t status = ucp_listener_create(worker_.get(), &how, &listener_); status != UCS_OK)
    throw ucx::UcxError("cannot listen", status);
}

std::unique_ptr<Network> UcxPlace::network(const Stop& stop) { return std::make_unique<UcxNetwork>(*this, stop); }

void UcxPlace::stop_listening() {
  if (listener_ == nullptr) return;
  for (const ucp_conn_request_h request : take_requests()) ucp_listener_reject(listener_, request);
  ucp_listener_destroy(std::exchange(listener_, nullptr));
}

UcxNetwork::~UcxNetwork() {
  for (auto& connection : connections_) {
    if (connection != nullptr) let_go(std::move(connection));
  }
  const auto until = std::chrono::steady_clock::now() + kMostForLeaving;
  while (!leaving_.empty() && std::chrono::steady_clock::now() < until) {
    if (!worker_.progress()) std::this_thread::yield();
    bury();
  }
  for (const auto& connection : leaving_) connection->channel.end();
}

void UcxNetwork::wait(u32 most_ms) {
  const auto has_news = [&] { return worker_.has_changed() || listener_.has_requests() || !woken_.empty(); };
  for (u32 looks = 0; looks < kUcxLooks + kUcxYields; ++looks) {
    for (u32 steps = 0; steps < kMostSteps && worker_.progress();) ++steps;
    if (has_news() || most_ms == 0) return bury();
    if (looks < kUcxLooks) {
      pause_spin();
    } else {
      std::this_thread::yield();
    }
  }
  bury();
  // Once the stop is asked for, its file is readable for ever.
  worker_.sleep(stop_.asked() ? -1 : stop_.file(), most_ms);
  for (u32 steps = 0; steps < kMostSteps && worker_.progress();) ++steps;
}

void UcxNetwork::report(Observer& observer) {
  for (const ucp_conn_request_h request : listener_.take_requests()) accept(request, observer);
  for (ucx::Channel* const channel : worker_.take_changed()) {
    // A connection that leaves is of no interest to the loop.
    if (const auto found = by_channel_.find(channel); found != by_channel_.end()) report_of(*found->second, observer);
  }
  for (const Place place : std::exchange(woken_, {})) {
    if (connections_[place] != nullptr) report_of(*connections_[place], observer);
  }
}

void UcxNetwork::accept(ucp_conn_request_h request, Observer& observer) {
  ucp_ep_params_t how{};
  how.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
  how.conn_request = request;
  const bool is_new = free_places_.empty();
  const Place place = is_new ? static_cast<Place>(connections_.size()) : free_places_.back();
  std::unique_ptr<Connection> connection;
  try {
    connection = std::make_unique<Connection>(worker_, how, place);
  } catch (const ucx::UcxError&) {
    return;  // the client has gone
  }
  connection->channel.greet();
  const std::string_view refusal = observer.accepted(place);
  if (!refusal.empty()) {
    connection->channel.send(refusal);
    return let_leave(std::move(connection));
  }
  if (is_new) {
    connections_.emplace_back();
  } else {
    free_places_.pop_back();
  }
  by_channel_.emplace(&connection->channel, connection.get());
  connections_[place] = std::move(connection);
}

void UcxNetwork::report_of(Connection& connection, Observer& observer) {
  ucx::Channel& channel = connection.channel;
  const Place place = connection.place;
  if (connection.failed) return;
  if (const std::string_view bytes = channel.input(); connection.wants_input && !bytes.empty()) {
    observer.received(place, bytes);
    channel.take(bytes.size());
  }
  if (channel.broken()) {
    connection.failed = true;
    return observer.failed(place);
  }
  const std::size_t sent = channel.take_sent();
  if (sent == 0) return;
  if (!channel.all_sent()) return observer.sent(place, sent, connection.bytes);
  std::string buffer = std::exchange(connection.bytes, {});
  observer.sent(place, sent, buffer);
}

Network::Sent UcxNetwork::send(Place place, std::string& bytes) {
  Connection& connection = *connections_[place];
  // A short string moves with its bytes, so it moves before UCX reads it.
  connection.bytes = std::exchange(bytes, {});
  connection.channel.send(connection.bytes);
  if (connection.channel.broken()) return {.failed = true};
  if (connection.channel.all_sent()) bytes = std::exchange(connection.bytes, {});
  return {.bytes = connection.channel.take_sent()};
}

void UcxNetwork::want_input(Place place, bool wanted) {
  connections_[place]->wants_input = wanted;
  if (wanted) woken_.push_back(place);
}

void UcxNetwork::close(Place place) {
  free_places_.push_back(place);
  by_channel_.erase(&connections_[place]->channel);
  let_go(std::move(connections_[place]));
}

void UcxNetwork::let_go(std::unique_ptr<Connection> connection) {
  if (connection->channel.all_sent() && !connection->channel.broken()) return let_leave(std::move(connection));
  connection->channel.end();
  leaving_.push_back(std::move(connection));
}

void UcxNetwork::let_leave(std::unique_ptr<Connection> connection) {
  connection->channel.finish();
  leaving_.push_back(std::move(connection));
  if (leaving_.size() > kMostLeaving) leaving_[leaving_.size() - kMostLeaving - 1]->channel.end();
}

void UcxNetwork::bury() {
  for (const auto& connection : leaving_) {
    if (connection->channel.broken()) connection->channel.end();
  }
  std::erase_if(leaving_, [](const auto& connection) { return connection->channel.ended(); });
}

}  // namespace

std::unique_ptr<UcxListener> listen_ucx(const Address& address) {
  try {
    return std::make_unique<UcxPlace>(address);
  } catch (const ucx::UcxError& error) {
    throw InputError("--listen: " + address.text + ": " + error.what());
  }
}

}  // namespace latchlab::kv
