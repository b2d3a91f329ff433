#include "services/kv/dialogue.h"

#include <algorithm>

namespace latchlab::kv {

namespace {

/// Room that a connection keeps while it is silent. A larger buffer is given back when it is empty.
constexpr std::size_t kKept = 16 << 10;

void shrink(std::string& buffer) {
  if (buffer.capacity() > kKept) std::string().swap(buffer);
}

}  // namespace

void Dialogue::receive(std::string_view bytes) {
  const std::size_t skipped = static_cast<std::size_t>(std::min<u64>(skip_, bytes.size()));
  skip_ -= skipped;
  in_.erase(0, used_);
  used_ = 0;
  in_.append(bytes.substr(skipped));
}

void Dialogue::sent(std::size_t bytes, std::string& buffer) {
  sending_ -= bytes;
  if (sending_ != 0) return;
  buffer.clear();
  shrink(buffer);
  if (out.empty() && out.capacity() < buffer.capacity()) out.swap(buffer);
}

void Dialogue::abandon() {
  closing = true;
  out.clear();
  sending_ = 0;
}

void Dialogue::hold_back(std::size_t keys) {
  waits = true;
  answered_keys = keys;
  begin_parsing();
}

void Dialogue::admit() {
  if (admitted) return;
  admitted = true;
  begin_parsing();
}

void Dialogue::begin_parsing() {
  memcached = MemcachedParser(memcached_limits());
  resp = RespParser(resp_limits());
}

void Dialogue::drop(std::size_t bytes, u64 skip) {
  held.reset();
  used_ += bytes;
  const std::size_t skipped = static_cast<std::size_t>(std::min<u64>(skip, input().size()));
  used_ += skipped;
  skip_ += skip - skipped;
  needed = 0;
  if (used_ < in_.size()) return;
  in_.clear();
  used_ = 0;
  shrink(in_);
}

}  // namespace latchlab::kv
