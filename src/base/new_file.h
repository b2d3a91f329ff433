#pragma once

// A file that appears as a whole or not at all: written under a hidden name in the same folder, synced, and renamed.
// An older file of its name stays until then.
//
// A process that is killed leaves the hidden file behind. The writer holds a lock (flock) on the file until it is
// renamed. The kernel releases the locks of a process that ends, however it ends. So a hidden file without a lock is
// abandoned, and the next writer in its folder removes it. A process number would not show that: other machines and
// containers write into the same folder, and numbers are reused.

#include <string>
#include <string_view>

namespace latchlab {

class NewFile {
 public:
  /// Opens the hidden file. Throws InputError, "`what` file 'PATH': why", if nothing can be written there. So it does
  /// if the path names anything but a regular file, such as a device or a folder. From the first NewFile on, an
  /// interrupt or a hang-up that ends the process also removes the hidden file. A signal that the process handles
  /// itself removes nothing. A limit on the size of files then becomes an error of keep().
  NewFile(std::string_view what, const std::string& path);
  /// Removes the hidden file unless keep() has renamed it.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes);

  /// Puts the file in its place. Throws OutputError if any of it could not be written.
  void keep();

  /// Removes the files that killed writers left in a folder: O(entries). A file that cannot be opened or removed stays.
  static void remove_abandoned(const std::string& folder);

  /// Removes the file that is not kept yet, if there is one. A signal handler that is about to end the process may call
  /// it.
  static void remove_unfinished();

 private:
  const std::string what_, path_;
  std::string beside_;  // the hidden file's path; empty once the file is in its place
  int file_ = -1;
  int error_ = 0;                // errno of the first write that failed
  bool is_for_handler_ = false;  // remove_unfinished removes this file
};

}  // namespace latchlab
