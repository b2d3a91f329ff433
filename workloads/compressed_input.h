#pragma once

// The contents of a file that may be compressed: plain, gzip or zstd. The first bytes tell which, so neither a file
// name nor a seek is needed, and standard input works too.

#include <memory>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"

namespace latchlab {

/// Decodes one kind of compression. A step decodes as much as input and room allow.
class Decoder;

/// The buffer of an istream over such a file. A failure to read or decode is an InputError, "trace 'PATH': why". The
/// istream passes it on if its exceptions() include badbit.
class CompressedInput final : public std::streambuf {
 public:
  /// Opens the file; "-" is standard input. Throws InputError.
  explicit CompressedInput(const std::string& path);
  ~CompressedInput() override;

 protected:
  int_type underflow() override;

 private:
  /// Reads the next bytes into from_; reads none at the end of the input.
  void read();
  [[nodiscard]] InputError error(std::string_view why) const;

  const std::string path_;
  const int fd_;
  std::vector<char> from_, into_;
  std::size_t next_ = 0, end_ = 0;  // the part of from_ that is not decoded yet
  bool is_within_ = false;          // true in the middle of a frame, where the input must not end
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace latchlab
