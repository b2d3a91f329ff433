#include "workloads/keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "src/base/error.h"
#include "workloads/bijection.h"
#include "workloads/streams.h"

namespace latchlab {

namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

std::string contents_of(const std::string& path) {
  const auto fail = [&](std::string_view why) {
    return InputError(fmt::format("key file '{}': {}", path, why));
  };
  const Descriptor file(path);
  if (file.get() < 0) throw fail(std::strerror(errno));
  struct stat about;
  if (::fstat(file.get(), &about) != 0) throw fail(std::strerror(errno));
  if (S_ISDIR(about.st_mode)) throw fail("is a directory, not a file with one key a line");
  if (!S_ISREG(about.st_mode)) throw fail("is not a regular file with one key a line");
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t filled = 0;
  // A file may shrink while it is read, and a read delivers at most 2 GB.
  while (filled < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw fail(std::strerror(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

/// A string with which no key ends: some byte if a byte will do, else the shortest that the pigeonholes
/// guarantee.
std::string suffix_without_key(const std::vector<std::string_view>& keys) {
  // '~' first: absent keys of a text are then text, and sort after the key that they extend.
  std::vector<bool> ends(256);
  for (const std::string_view key : keys) ends[static_cast<u8>(key.back())] = true;
  for (int step = 0; step < 256; ++step) {
    const u8 byte = static_cast<u8>('~' - step);
    if (!ends[byte]) return std::string(1, static_cast<char>(byte));
  }
  for (std::size_t length = 2;; ++length) {
    // Fewer endings than strings of this length leave one free, and keys.size() < 256^8 always holds.
    std::vector<u64> endings;
    for (const std::string_view key : keys) {
      if (key.size() < length) continue;
      u64 ending = 0;
      for (const char c : key.substr(key.size() - length)) ending = ending << 8 | static_cast<u8>(c);
      endings.push_back(ending);
    }
    std::sort(endings.begin(), endings.end());
    u64 free = 0;
    for (const u64 ending : endings) {
      if (ending == free) ++free;
    }
    if (length < sizeof(u64) && free >> (8 * length) != 0) continue;
    std::string suffix;
    for (std::size_t at = length; at-- > 0;) suffix.push_back(static_cast<char>(free >> (8 * at)));
    return suffix;
  }
}

}  // namespace

KeySet::KeySet(const Spec& spec, u64 seed) : kind_(Kind::kSparse) {
  if (spec.name == "file") {
    if (!spec.arg) throw InputError("keys file: needs a path, as in --keys=file:/usr/share/dict/words");
    kind_ = Kind::kFile;
    load(*spec.arg, seed);
    return;
  }
  SpecReader reader(spec, "keys " + spec.name);
  if (spec.name == "dense") {
    kind_ = Kind::kStride;
  } else if (spec.name == "stride") {
    kind_ = Kind::kStride;
    if (!spec.arg) throw InputError("keys stride: needs a number, as in --keys=stride:4096");
    stride_ = reader.arg_u64(1, 1, ~u64{0});
    numbers_ >>= std::countr_zero(stride_);
  } else if (spec.name == "u32") {
    kind_ = Kind::kSparse32;
    numbers_ = u64{1} << 31;
  } else if (spec.name == "u16") {
    kind_ = Kind::kSparse16;
    numbers_ = u64{1} << 15;
  } else if (spec.name != "u64") {
    throw InputError(fmt::format("unknown keys '{}'; there are u64, u32, u16, dense, stride:N and file:PATH{}", spec.name,
                                 suggestion(spec.name, {"u64", "u32", "u16", "dense", "stride", "file"})));
  }
  reader.finish();
  offset_ = draw(seed, kKeyStream, 0);
}

void KeySet::load(const std::string& path, u64 seed) {
  const std::string text = contents_of(path);
  std::vector<std::string_view> keys;
  // Open addressing over positions in `keys`; 0 is free. Grown at half full.
  std::vector<u32> table(1024);
  const auto place_of = [&](std::string_view key) -> u32& {
    const u64 mask = table.size() - 1;
    u64 at = hash_bytes(key) & mask;
    while (table[at] != 0 && keys[table[at] - 1] != key) at = (at + 1) & mask;
    return table[at];
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    ++lines_.total;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) {
      ++lines_.empty;
      continue;
    }
    if (line.size() > kLongestKey) {
      throw InputError(fmt::format("key file '{}': line {} has {} bytes; a key may have {}", path,
                                   lines_.total, line.size(), kLongestKey));
    }
    u32& place = place_of(line);
    if (place != 0) {
      ++lines_.repeated;
      continue;
    }
    if (keys.size() == ~u32{0}) {
      throw InputError(fmt::format("key file '{}': line {} is one key more than the {} supported", path,
                                   lines_.total, keys.size()));
    }
    keys.push_back(line);
    place = static_cast<u32>(keys.size());
    lines_.key_bytes += line.size();
    lines_.longest = std::max<u64>(lines_.longest, line.size());
    if (keys.size() * 2 > table.size()) {
      table.assign(table.size() * 2, 0);
      for (u32 k = 0; k < keys.size(); ++k) place_of(keys[k]) = k + 1;
    }
  }
  if (keys.empty()) {
    throw InputError(fmt::format("key file '{}': has no key on its {} lines; it needs one key a line", path,
                                 lines_.total));
  }

  const std::string suffix = suffix_without_key(keys);
  suffix_bytes_ = static_cast<u32>(suffix.size());
  blob_.reserve(lines_.key_bytes + keys.size() * suffix.size());
  std::vector<Entry> in_file_order;
  in_file_order.reserve(keys.size());
  for (const std::string_view key : keys) {
    in_file_order.push_back({.offset = blob_.size(), .length = static_cast<u32>(key.size())});
    blob_.append(key).append(suffix);
  }
  const Bijection line_of(keys.size(), seed, kLineStream);
  entries_.reserve(keys.size());
  for (u64 n = 0; n < keys.size(); ++n) entries_.push_back(in_file_order[line_of(n)]);
}

}  // namespace latchlab
