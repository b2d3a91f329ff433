#include "workloads/trace.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/file_error.h"
#include "src/base/hash.h"
#include "workloads/keys.h"
#include "workloads/text_file.h"

namespace latchlab {

namespace {

constexpr std::array<char, 8> kMagic = {'l', 'a', 't', 'c', 'h', 't', 'r', 'c'};
constexpr u32 kVersion = 1;

struct Header {
  std::array<char, 8> magic = kMagic;
  u32 version = kVersion;
  u32 has_times = 0;
  u64 operations = 0;
  u64 keys = 0;
  u64 loaded = 0;
  u64 key_bytes = 0;
  u64 checksum = 0;
  u64 unused = 0;
};
// Memory used while operations and keys are collected: an upper bound for an operation in a growing vector, and for a
// key in a table and a list. The bytes of a key are extra; they are there twice in the end.
constexpr u64 kBytesPerOp = 3 * sizeof(TraceOp);
constexpr u64 kBytesPerKey = 100;

static_assert(sizeof(Header) == 64, "a part of the file format");

u64 filled_up(u64 bytes) { return (bytes + 7) / 8 * 8; }

/// Returns the checksum of the header, without its own field, and of everything that follows.
u64 checksum_of(Header header, std::string_view ends, std::string_view bytes, std::string_view ops) {
  header.checksum = 0;
  const std::string_view first(reinterpret_cast<const char*>(&header), sizeof(header));
  return hash_bytes(ops, hash_bytes(bytes, hash_bytes(ends, hash_bytes(first))));
}

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

InputError fail(const std::string& path, std::string_view why) { return file_error("trace", path, why); }

}  // namespace

Trace::Trace(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw fail(path, std::strerror(errno));
  struct stat about{};
  const bool known = ::fstat(fd, &about) == 0;
  if (known && S_ISREG(about.st_mode) && about.st_size > 0) {
    size_ = static_cast<std::size_t>(about.st_size);
    void* const at = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    mapped_ = at == MAP_FAILED ? nullptr : static_cast<const char*>(at);
  }
  const int error = errno;
  ::close(fd);
  identity_ = {.device = about.st_dev,
               .inode = about.st_ino,
               .size = size_,
               .changed_s = about.st_mtim.tv_sec,
               .changed_ns = about.st_mtim.tv_nsec};
  if (!known || (mapped_ == nullptr && size_ > 0)) throw fail(path, std::strerror(error));
  if (mapped_ == nullptr) throw fail(path, S_ISREG(about.st_mode) ? "is empty" : "is not a regular file");
  try {
    look_at(path);
  } catch (...) {
    ::munmap(const_cast<char*>(mapped_), size_);
    throw;
  }
}

Trace::~Trace() { ::munmap(const_cast<char*>(mapped_), size_); }

std::shared_ptr<const Trace> Trace::at(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Trace>> traces;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Trace>& known = traces[path];
  struct stat about{};
  const bool there = ::stat(path.c_str(), &about) == 0;
  const Identity now{.device = about.st_dev,
                     .inode = about.st_ino,
                     .size = static_cast<u64>(about.st_size),
                     .changed_s = about.st_mtim.tv_sec,
                     .changed_ns = about.st_mtim.tv_nsec};
  if (!known || !there || known->identity_ != now) known = std::make_shared<const Trace>(path);
  return known;
}

void Trace::look_at(const std::string& path) {
  Header header;
  if (size_ < sizeof(header)) throw fail(path, fmt::format("has {} bytes, too few for the header of a trace", size_));
  std::memcpy(&header, mapped_, sizeof(header));
  if (header.magic != kMagic)
    throw fail(path, "is not a Latchlab trace; harness trace convert makes one from other formats");
  if (header.version != kVersion) {
    throw fail(path, fmt::format("is of version {}; this harness reads version {}", header.version, kVersion));
  }
  // Each count is checked by itself first, since products could overflow.
  const u64 most = size_ / sizeof(u64);
  const bool absurd = header.operations > most || header.keys > most || header.key_bytes > size_;
  const u64 wanted = absurd ? 0
                            : sizeof(header) + header.keys * sizeof(u64) + filled_up(header.key_bytes) +
                                  header.operations * sizeof(TraceOp);
  if (wanted != size_) {
    throw fail(
        path,
        fmt::format("has {} bytes, not what its {} operations on {} keys of {} bytes take: it is cut off or damaged",
                    size_, header.operations, header.keys, header.key_bytes));
  }
  const char* const ends = mapped_ + sizeof(header);
  ends_ = {reinterpret_cast<const u64*>(ends), header.keys};
  bytes_ = ends + ends_.size_bytes();
  const char* const ops = bytes_ + filled_up(header.key_bytes);
  ops_ = {reinterpret_cast<const TraceOp*>(ops), header.operations};
  if (checksum_of(header, bytes_of(ends_), {bytes_, filled_up(header.key_bytes)}, bytes_of(ops_)) != header.checksum) {
    throw fail(path, "is damaged: its checksum does not match");
  }
  // A file with a correct checksum may still be wrong, since another program may have written it.
  look_at_keys(path, header.key_bytes);
  look_at_ops(path);
  if (header.loaded > keys())
    throw fail(path, fmt::format("says that {} keys were loaded, but has {} keys", header.loaded, keys()));
  loaded_ = header.loaded;
  has_times_ = header.has_times != 0;
  checksum_ = header.checksum;
}

void Trace::look_at_keys(const std::string& path, u64 key_bytes) const {
  if (keys() > ~u32{0}) throw fail(path, fmt::format("has {} keys; there may be {}", keys(), ~u32{0}));
  // Open addressing over key numbers plus one; 0 is free.
  std::vector<u32> places(std::bit_ceil(2 * keys() + 1));
  u64 before = 0;
  for (u64 n = 0; n < keys(); ++n) {
    if (ends_[n] <= before || ends_[n] > key_bytes) {
      throw fail(path, fmt::format("key {} ends at byte {}, after {}", n, ends_[n], before));
    }
    before = ends_[n];
    const std::string_view own = key(n);
    if (own.size() > KeySet::kLongestKey) {
      throw fail(path, fmt::format("key {} has {} bytes; a key may have {}", n, own.size(), KeySet::kLongestKey));
    }
    u64 at = hash_bytes(own) & (places.size() - 1);
    for (; places[at] != 0; at = (at + 1) & (places.size() - 1)) {
      if (key(places[at] - 1) == own) throw fail(path, fmt::format("key {} repeats key {}", n, places[at] - 1));
    }
    places[at] = static_cast<u32>(n + 1);
  }
}

void Trace::look_at_ops(const std::string& path) {
  u64 time = 0;
  for (u64 i = 0; i < ops_.size(); ++i) {
    const TraceOp& op = ops_[i];
    if (op.key >= keys())
      throw fail(path, fmt::format("operation {} is on key {}; keys are below {}", i, op.key, keys()));
    if (!TraceOp::may_have(op.kind)) {
      throw fail(path,
                 fmt::format("operation {} has kind {}, which is no kind of operations on one key", i, u32{op.kind}));
    }
    if (op.time_ns < time) throw fail(path, fmt::format("operation {} is earlier than the one before", i));
    time = op.time_ns;
    ++counts_[op.kind];
    if (const u32 bytes = op.value_bytes; bytes != 0) {
      ++values_.count;
      values_.bytes += bytes;
      values_.shortest = std::min(values_.shortest, bytes);
      values_.longest = std::max(values_.longest, bytes);
    }
  }
  if (ops_.empty()) throw fail(path, "has no operation");
}

u32 TraceWriter::number_of(std::string_view key, bool was_there) {
  if (key.empty()) throw InputError("the key is empty");
  if (key.size() > KeySet::kLongestKey) {
    throw InputError(fmt::format("the key has {} bytes; a key may have {}", key.size(), KeySet::kLongestKey));
  }
  const auto [known, is_new] = numbers_.try_emplace(std::string(key), static_cast<u32>(keys_.size()));
  if (!is_new) return known->second;
  bytes_ += 2 * key.size() + kBytesPerKey;
  if (keys_.size() == ~u32{0})
    throw InputError(fmt::format("it needs one key more than the {} supported", keys_.size()));
  keys_.push_back(&known->first);
  was_there_.push_back(was_there);
  check_memory();
  return known->second;
}

void TraceWriter::check_memory() const {
  if (bytes_ <= memory_) return;
  throw InputError(fmt::format("the {} operations on {} keys so far take {} of memory, more than is available",
                               ops_.size(), keys_.size(), gigabytes(bytes_)));
}

void TraceWriter::add(u64 time_ns, std::string_view key, OpKind kind, u64 value_bytes) {
  if (!ops_.empty() && time_ns < ops_.back().time_ns)
    throw InputError("its time is earlier than that of the operation before");
  TraceOp op;
  op.key = number_of(key, says_loaded_ == Loaded::kByOperations && !about(kind).inserts);
  op.time_ns = time_ns;
  op.value_bytes = static_cast<u32>(std::min<u64>(value_bytes, TraceOp::kMostValueBytes)) & TraceOp::kMostValueBytes;
  op.kind = static_cast<u8>(kind);
  ops_.push_back(op);
  bytes_ += kBytesPerOp;
  check_memory();
}

/// Renumbers the keys: loaded ones first, each group in its old order.
void TraceWriter::put_loaded_first() {
  std::vector<u32> number(keys_.size());
  std::vector<const std::string*> keys;
  std::vector<bool> was_there;
  for (const bool there : {true, false}) {
    for (u32 key = 0; key < keys_.size(); ++key) {
      if (was_there_[key] != there) continue;
      number[key] = static_cast<u32>(keys.size());
      keys.push_back(keys_[key]);
      was_there.push_back(there);
    }
  }
  keys_ = std::move(keys);
  was_there_ = std::move(was_there);
  for (TraceOp& op : ops_) op.key = number[op.key];
}

void TraceWriter::write(NewFile& file, bool has_times) {
  if (ops_.empty()) throw InputError("there is no operation to write");
  put_loaded_first();
  const u64 begin = ops_.front().time_ns;
  for (TraceOp& op : ops_) op.time_ns = has_times ? op.time_ns - begin : 0;
  std::vector<u64> ends;
  std::string bytes;
  for (const std::string* const key : keys_) {
    bytes += *key;
    ends.push_back(bytes.size());
  }
  Header header;
  header.has_times = has_times;
  header.operations = ops_.size();
  header.keys = keys_.size();
  header.loaded = static_cast<u64>(std::ranges::count(was_there_, true));
  header.key_bytes = bytes.size();
  bytes.resize(filled_up(bytes.size()));
  const std::string_view key_ends = bytes_of(std::span<const u64>(ends)),
                         ops = bytes_of(std::span<const TraceOp>(ops_));
  header.checksum = checksum_of(header, key_ends, bytes, ops);
  for (const std::string_view part : {std::string_view(reinterpret_cast<const char*>(&header), sizeof(header)),
                                      key_ends, std::string_view(bytes), ops}) {
    file.write(part);
  }
}

void TraceWriter::write(const std::string& path, bool has_times) {
  NewFile file("trace", path);
  write(file, has_times);
  file.keep();
}

}  // namespace latchlab
