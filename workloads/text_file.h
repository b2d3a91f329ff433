#pragma once

// Small text files, of workloads and options. They are read at once and processed line by line. Every error names the
// file and the line. `#` begins a comment. Lines with nothing else are skipped.

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
  /// Opens the file. Throws InputError, "`what` file 'PATH': why", if it is missing, unreadable or not a regular file.
  RegularFile(std::string_view what, const std::string& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  /// Returns its bytes when it was opened.
  [[nodiscard]] u64 size() const { return size_; }
  /// Reads the next bytes; fewer than there is room for only at the end of the file. Throws InputError.
  [[nodiscard]] std::size_t read(std::span<char> into);
  /// Reads the whole file.
  [[nodiscard]] std::string contents();

  [[nodiscard]] InputError error(std::string_view why) const;

 private:
  const std::string what_, path_;
  int fd_ = -1;
  u64 size_ = 0;
};

/// Returns as much of `text` as fits into a line of an error, printable.
[[nodiscard]] std::string cut_short(std::string_view text);

/// Returns text such as "27.1 GB".
[[nodiscard]] std::string gigabytes(u64 bytes);

class TextFile {
 public:
  static constexpr std::size_t kMostBytes = 16 << 20;  ///< limit for files that people write by hand

  /// Reads the file. Throws InputError as RegularFile does, and for more than kMostBytes, before it reads any.
  TextFile(std::string_view what, const std::string& path);
  /// Takes the text of a file that has been read already.
  TextFile(std::string_view what, const std::string& path, std::string_view text)
      : what_(what), path_(path), text_(text) {}

  struct Line {
    const TextFile& file;
    u64 number;             ///< counted from 1
    std::string_view text;  ///< without its comment and the blanks at its ends

    /// Returns its words as finite numbers. `needs` says in errors what the line should contain.
    [[nodiscard]] std::vector<double> numbers(std::string_view needs) const;
    /// Returns an error such as "... line N 'TEXT' `why`".
    [[nodiscard]] InputError error(std::string_view why) const;
  };
  enum class Comments {
    kAnywhere,    ///< `#` begins a comment anywhere
    kWholeLines,  ///< `#` begins a comment only at the beginning of a line; elsewhere it may be part of a word
  };
  void for_each_line(const std::function<void(const Line&)>& take, Comments comments = Comments::kAnywhere) const;

  [[nodiscard]] InputError error(std::string_view why) const;

 private:
  std::string what_;
  std::string path_;
  std::string text_;
};

}  // namespace latchlab
