#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "src/arch/pause.h"
#include "src/wire/stream.h"
#include "src/wire/ucx_channel.h"

namespace latchlab {

namespace {

constexpr u32 kUcxLooks = 200;   // before the client yields
constexpr u32 kUcxYields = 200;  // before it sleeps
constexpr u32 kUcxSleepMs = 100;
constexpr std::chrono::seconds kMostForGreeting{10};

ucp_ep_params_t endpoint_at(const KernelAddress& name) {
  ucp_ep_params_t how{};
  how.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
  how.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
  how.sockaddr = {.addr = name.get(), .addrlen = name.size};
  return how;
}

class UcxStream final : public ByteStream {
 public:
  UcxStream(const KernelAddress& name, const std::string& server)
      : server_(server), channel_(worker_, endpoint_at(name)) {
    const auto until = std::chrono::steady_clock::now() + kMostForGreeting;
    wait([&] {
      if (channel_.greeted()) return true;
      if (channel_.broken() || std::chrono::steady_clock::now() > until)
        throw ConnectionLost("no server of UCX answers there");
      return false;
    });
  }

  void send(std::string_view bytes) override {
    channel_.send(bytes);
    wait([&] { return channel_.all_sent(); });
  }

  [[nodiscard]] std::size_t receive(std::span<char> room) override {
    wait([&] { return !channel_.input().empty(); });
    const std::size_t count = std::min(room.size(), channel_.input().size());
    std::memcpy(room.data(), channel_.input().data(), count);
    channel_.take(count);
    return count;
  }

 private:
  /// Waits until done(). Throws ConnectionLost if the connection is over before.
  template <class Done>
  void wait(const Done& done) {
    for (u32 looks = 0; !done(); ++looks) {
      if (worker_.progress()) {
        looks = 0;
        continue;
      }
      if (channel_.broken() || channel_.finished())
        throw ConnectionLost(server_ + ": the server has closed the connection");
      if (looks < kUcxLooks) {
        pause_spin();
      } else if (looks < kUcxLooks + kUcxYields) {
        std::this_thread::yield();
      } else {
        worker_.sleep(-1, kUcxSleepMs);
      }
    }
  }

  const std::string server_;
  ucx::Worker worker_;
  ucx::Channel channel_;
};

}  // namespace

std::unique_ptr<ByteStream> connect_ucx(const Address& address) {
  const std::optional<KernelAddress> name = kernel_address(address);
  try {
    return std::make_unique<UcxStream>(name.value(), address.text);
  } catch (const std::runtime_error& error) {
    throw ConnectionLost("cannot connect to " + address.text + ": " + error.what());
  }
}

}  // namespace latchlab
