#pragma once

// The network over mailboxes in shared memory (src/wire/mailboxes.h), for clients of the same machine. It has no call
// of the kernel while there is work: it looks at its boxes in turn. So it shows what is left of a server without a
// network.
//
// The place of a connection is the number of its box within the loop.

#include <array>
#include <cstddef>
#include <string>

#include "services/kv/network.h"
#include "services/kv/stop.h"
#include "src/base/types.h"
#include "src/wire/mailboxes.h"

namespace latchlab::kv {

class MailboxNetwork final : public Network {
 public:
  /// Serves the boxes of one loop of the layout, which outlives it.
  MailboxNetwork(mailboxes::Layout& layout, u32 loop, const Stop& stop);
  /// Ends all connections.
  ~MailboxNetwork() override;
  MailboxNetwork(const MailboxNetwork&) = delete;
  MailboxNetwork& operator=(const MailboxNetwork&) = delete;

  void wait(u32 most_ms) override;
  void report(Observer& observer) override;
  Sent send(Place place, std::string& bytes) override;
  void want_input(Place place, bool wanted) override { connections_[place].wants_input = wanted; }
  void close(Place place) override;
  void stop_accepting() override { accepts_ = false; }

 private:
  struct Connection {
    bool open = false;  ///< the loop knows it
    bool wants_input = true;
    bool broken = false;  ///< `failed` was said
    mailboxes::Reader reader;
    mailboxes::Writer writer;
    std::string bytes;  ///< that are being sent
    std::size_t sent = 0;
  };

  [[nodiscard]] mailboxes::Box& box(Place place) const { return boxes_[place]; }
  /// Returns true if the box has something to report.
  [[nodiscard]] bool has_news(Place place) const;
  [[nodiscard]] bool any_news() const;
  void accept(Place place, u64 packed, Observer& observer);
  void fail(Place place, Observer& observer);
  void report_of(Place place, Observer& observer);
  /// Frees the boxes of clients that have died.
  void bury();
  /// Says that this side has ended the connection. The last side frees the box.
  void end(Place place);

  mailboxes::Box* const boxes_;
  mailboxes::Bell& bell_;
  const Stop& stop_;
  bool accepts_ = true;
  u32 waits_ = 0;
  std::array<Connection, mailboxes::kBoxes> connections_;
};

}  // namespace latchlab::kv
