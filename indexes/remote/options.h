#pragma once
// The options of `remote`.
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "indexes/remote/wording.h"
#include "src/base/spec.h"
#include "src/base/words.h"
#include "src/wire/address.h"

namespace latchlab::remote {

/// What a client speaks. `meta` is memcached's newer commands.
enum class Dialect : u8 { kMemcached, kMeta, kResp };

/// What carries the bytes: TCP and Unix sockets, mailboxes in shared memory, or UCX.
enum class Transport : u8 { kSocket, kShm, kUcx };

struct Options {
  std::vector<Address> addresses;
  Dialect dialect = Dialect::kMemcached;
  Transport transport = Transport::kSocket;
  Wording wording;
  bool flush = false;
  bool keeps = true;  ///< the servers keep what they are given

  /// Parses a spec such as remote:addr=127.0.0.1:11211+127.0.0.1:11212,protocol=meta. Throws InputError for an address
  /// that is none, for one that is given twice, and for an unknown word.
  static Options parse(const Spec& spec);
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> resolved() const;
  static std::string_view about(std::string_view key);
};

}  // namespace latchlab::remote

template <>
inline constexpr std::array latchlab::kWords<latchlab::remote::Dialect>{"memcached"sv, "meta"sv, "resp"sv};
template <>
inline constexpr std::array latchlab::kWords<latchlab::remote::Transport>{"socket"sv, "shm"sv, "ucx"sv};
