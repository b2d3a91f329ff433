#pragma once

// The bytes of a file that may be compressed: as they are, from gzip or from zstd. The first bytes tell which, so that
// neither a name nor a seek is needed and standard input serves too.

#include <memory>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"

namespace latchlab {

/// Undoes one kind of compression, as much at a time as there is input and room.
class Decoder;

/// The buffer of an istream. What cannot be read or decoded is an InputError, "trace 'PATH': why", which the istream
/// passes on if its exceptions() have badbit.
class CompressedInput final : public std::streambuf {
 public:
  /// Opens the file; "-" is standard input. Throws InputError.
  explicit CompressedInput(const std::string& path);
  ~CompressedInput() override;

 protected:
  int_type underflow() override;

 private:
  /// Reads the next bytes into from_; none where the input ends.
  void read();
  [[nodiscard]] InputError error(std::string_view why) const;

  const std::string path_;
  const int fd_;
  std::vector<char> from_, into_;
  std::size_t next_ = 0, end_ = 0;  // what of from_ is not decoded yet
  bool is_within_ = false;          // the input must go on: it is in the middle of a frame
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace latchlab
