#pragma once

// Small text files, of workloads and options: read at once, gone through line by line, and every complaint names the
// file and the line. `#` begins a comment; lines with nothing else are skipped.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/base/types.h"

namespace latchlab {

/// A regular file, to be read from its beginning.
class RegularFile {
 public:
  /// Throws InputError, "`what` file 'PATH': why", for one that is missing, unreadable or not a regular file.
  RegularFile(std::string_view what, const std::string& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  /// Bytes, as it was opened.
  [[nodiscard]] u64 size() const { return size_; }
  /// The next ones, fewer than there is room for only where the file ends. Throws InputError.
  [[nodiscard]] std::size_t read(std::span<char> into);
  /// All of them.
  [[nodiscard]] std::string contents();

  [[nodiscard]] InputError error(std::string_view why) const;

 private:
  const std::string what_, path_;
  int fd_ = -1;
  u64 size_ = 0;
};

/// As much of `text` as fits into a line of an error, printable.
[[nodiscard]] std::string cut_short(std::string_view text);

/// "27.1 GB".
[[nodiscard]] std::string gigabytes(u64 bytes);

class TextFile {
 public:
  static constexpr std::size_t kMostBytes = 16 << 20;  ///< of what people write by hand

  /// Throws InputError as RegularFile does, and for more than kMostBytes, before any is read.
  TextFile(std::string_view what, const std::string& path);
  /// One that has been read already.
  TextFile(std::string_view what, const std::string& path, std::string_view text)
      : what_(what), path_(path), text_(text) {}

  struct Line {
    const TextFile& file;
    u64 number;             ///< counted from 1
    std::string_view text;  ///< without comment and without blanks at its ends

    /// Its words as finite numbers; `needs` says in errors what it should have been.
    [[nodiscard]] std::vector<double> numbers(std::string_view needs) const;
    /// "... line N 'TEXT' `why`".
    [[nodiscard]] InputError error(std::string_view why) const;
  };
  enum class Comments {
    kAnywhere,    ///< `#` begins one wherever it stands
    kWholeLines,  ///< ... where it is the first of a line: elsewhere it may be part of a word
  };
  void for_each_line(const std::function<void(const Line&)>& take, Comments comments = Comments::kAnywhere) const;

  [[nodiscard]] InputError error(std::string_view why) const;

 private:
  std::string what_;
  std::string path_;
  std::string text_;
};

}  // namespace latchlab
