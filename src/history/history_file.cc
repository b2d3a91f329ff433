#include "src/history/history_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "src/base/file_error.h"
#include "src/base/hash.h"

namespace latchlab {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");

constexpr std::string_view kMagic = "latchhis";
constexpr u32 kVersion = 1;
constexpr std::size_t kHeaderBytes = 32, kSumBytes = 8, kBlockRecords = 4096;
constexpr u8 kYes = 1, kSaysWas = 2;

struct CallRecord {
  u64 key, value, was, called, returned;
  u32 thread;
  u8 kind, flags;
  u16 zero;
};
static_assert(sizeof(CallRecord) == 48, "a record has no gaps, so its bytes are the file's");

template <class T>
void append(std::string& out, const T& number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string header_of(u64 calls) {
  std::string out(kMagic);
  append(out, kVersion);
  append(out, u32{0});
  append(out, calls);
  append(out, hash_bytes(out));
  return out;
}

/// Returns the bytes of a file with so many calls.
u64 size_of(u64 calls) {
  const u64 blocks = (calls + kBlockRecords - 1) / kBlockRecords;
  return kHeaderBytes + blocks * kSumBytes + calls * sizeof(CallRecord);
}

/// Returns what is wrong with a record; nothing if a call makes it.
std::optional<std::string_view> fault_of(const CallRecord& record) {
  if (record.kind >= kWords<CallKind>.size()) return "its kind is none";
  if (record.flags > (kYes | kSaysWas) || record.zero != 0) return "bits are set that mean nothing";
  const auto kind = static_cast<CallKind>(record.kind);
  const bool yes = (record.flags & kYes) != 0, says_was = (record.flags & kSaysWas) != 0;
  const bool stores = kind == CallKind::kInsert || kind == CallKind::kUpdate || kind == CallKind::kUpsert;
  if (record.called > record.returned) return "it returns before it is called";
  if (record.returned == kNeverReturned && record.flags != 0) return "it has an answer, and never returned";
  if (!says_was && record.was != 0) return "it has a value that was there, and does not say so";
  if (!stores && !(kind == CallKind::kFind && yes) && record.value != 0) return "it has a value, and needs none";
  const Call call{kind, yes, 0, 0, 0};
  if (says_was && (kind == CallKind::kFind || !call.was_there())) return "it says what was there where nothing can be";
  return std::nullopt;
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// Opens a file to read it, or returns null and sets errno. Does not wait for the writer of a pipe.
File opened(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  return {descriptor < 0 ? nullptr : fdopen(descriptor, "rb"), &std::fclose};
}

/// Returns true if a file is there that a history would destroy: neither empty nor a history, nor the beginning of one.
bool is_something_else(const std::string& path) {
  const auto file = opened(path);
  if (!file) return errno != ENOENT;
  std::array<char, kMagic.size()> start;
  const std::size_t bytes = std::fread(start.data(), 1, start.size(), file.get());
  return std::string_view(start.data(), bytes) != kMagic.substr(0, bytes) || std::ferror(file.get()) != 0;
}

class HistoryReader {
 public:
  explicit HistoryReader(const std::string& path) : path_(path), file_(opened(path)) {
    if (!file_) throw error(fmt::format("cannot be read: {}", std::strerror(errno)));
    struct stat about{};
    if (fstat(fileno(file_.get()), &about) != 0 || !S_ISREG(about.st_mode)) throw error("is not a regular file");
    bytes_ = static_cast<u64>(about.st_size);
  }

  std::vector<KeyedCall> read() {
    std::vector<KeyedCall> calls;
    const u64 count = read_header();
    calls.reserve(count);
    std::vector<CallRecord> records;
    while (calls.size() < count) {
      records.resize(std::min<u64>(kBlockRecords, count - calls.size()));
      u64 sum = 0;
      read_bytes(&sum, sizeof sum);
      read_bytes(records.data(), records.size() * sizeof(CallRecord));
      if (sum != sum_of(records)) {
        throw error(fmt::format("is damaged: the sum of calls {} to {} is wrong", calls.size() + 1,
                                calls.size() + records.size()));
      }
      for (const CallRecord& record : records) calls.push_back(call_of(record, calls.size() + 1));
    }
    return calls;
  }

 private:
  InputError error(std::string_view why) const { return file_error("history", path_, why); }

  void read_bytes(void* to, std::size_t bytes) {
    if (std::fread(to, 1, bytes, file_.get()) == bytes) return;
    throw error(std::ferror(file_.get()) != 0 ? fmt::format("cannot be read: {}", std::strerror(errno))
                                              : "became shorter while it was read");
  }
  u64 read_header() {
    if (bytes_ < kHeaderBytes) throw error(fmt::format("is no history: it has {} bytes", bytes_));
    std::array<char, kHeaderBytes> header;
    read_bytes(header.data(), header.size());
    if (std::string_view(header.data(), kMagic.size()) != kMagic)
      throw error(fmt::format("is no history: it does not begin with '{}'", kMagic));
    u32 version = 0;
    u64 calls = 0;
    std::memcpy(&version, header.data() + 8, sizeof version);
    std::memcpy(&calls, header.data() + 16, sizeof calls);
    if (version != kVersion) throw error(fmt::format("has version {}; this program reads {}", version, kVersion));
    if (header_of(calls) != std::string_view(header.data(), header.size()))
      throw error("is damaged: the sum of its header is wrong");
    if (calls > bytes_ / sizeof(CallRecord) || size_of(calls) != bytes_)
      throw error(fmt::format("is damaged: its {} calls do not make {} bytes", calls, bytes_));
    return calls;
  }
  static u64 sum_of(const std::vector<CallRecord>& records) {
    return hash_bytes({reinterpret_cast<const char*>(records.data()), records.size() * sizeof(CallRecord)});
  }
  KeyedCall call_of(const CallRecord& record, u64 number) const {
    if (const auto fault = fault_of(record)) throw error(fmt::format("is wrong at call {}: {}", number, *fault));
    Call call{static_cast<CallKind>(record.kind),
              (record.flags & kYes) != 0,
              record.value,
              record.called,
              record.returned,
              record.thread};
    if ((record.flags & kSaysWas) != 0) call.was = record.was;
    return {record.key, call};
  }

  const std::string path_;
  const File file_;
  u64 bytes_ = 0;
};

}  // namespace

HistoryWriter::HistoryWriter(const std::string& path, u64 calls) : file_("history", path), left_(calls) {
  if (is_something_else(path))
    throw file_error("history", path, "exists and is no history; remove it, or name another");
  file_.write(header_of(calls));
}

void HistoryWriter::add(u64 key, const Call& call) {
  const bool answers = call.has_returned();
  CallRecord record{
      .key = key,
      .value = call.kind == CallKind::kErase || (call.kind == CallKind::kFind && !call.yes) ? 0 : call.value,
      .was = answers ? call.was.value_or(0) : 0,
      .called = call.called,
      .returned = call.returned,
      .thread = call.caller,
      .kind = static_cast<u8>(call.kind),
      .flags = 0,
      .zero = 0};
  if (answers) record.flags = static_cast<u8>((call.yes ? kYes : 0) | (call.was ? kSaysWas : 0));
  if (const auto fault = fault_of(record))
    throw std::invalid_argument(fmt::format("history: {}: {}", call.str(), *fault));
  if (left_ == 0) throw std::invalid_argument("history: more calls than were announced");
  --left_;
  append(block_, record);
  if (block_.size() == kBlockRecords * sizeof record || left_ == 0) write_block();
}

void HistoryWriter::write_block() {
  std::string sum;
  append(sum, hash_bytes(block_));
  file_.write(sum);
  file_.write(block_);
  block_.clear();
}

std::vector<KeyedCall> read_history(const std::string& path) { return HistoryReader(path).read(); }

void HistoryWriter::keep() {
  if (left_ != 0) throw std::invalid_argument("history: fewer calls than were announced");
  file_.keep();
}

}  // namespace latchlab
