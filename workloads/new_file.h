#pragma once

// A file that comes to be as a whole or not at all: written beside its place, under another name, and renamed when it is done. What
// was in its place stays until then.

#include <fstream>
#include <string>
#include <string_view>

#include "src/base/error.h"

namespace latchlab {

class NewFile {
 public:
  /// Throws InputError, "`what` file 'PATH': why", where something is that is no regular file (a device, a folder), and where
  /// nothing can be written.
  NewFile(std::string_view what, const std::string& path);
  /// Without keep() nothing is left.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes) { file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())); }

  /// Puts it in its place. Throws InputError where any of it could not be written.
  void keep();

 private:
  [[nodiscard]] InputError error(std::string_view why) const;

  const std::string what_, path_;
  std::string beside_;   // empty once it is in its place
  std::ofstream file_;
};

}  // namespace latchlab
