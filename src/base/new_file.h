#pragma once

// A file that comes to be as a whole or not at all: written beside its place under a hidden name, brought to the disk,
// and renamed. What was in its place stays until then.
//
// A process that is killed leaves the hidden file behind. Its writer holds a lock (flock) on it until it is renamed,
// and the kernel takes the lock back from a process that ends, however it ends. So a hidden file that nobody locks is
// abandoned, and who writes into its folder next removes it. A process number does not tell: other machines and
// containers write into the same folder, and numbers come again.

#include <string>
#include <string_view>

namespace latchlab {

class NewFile {
 public:
  /// Throws InputError, "`what` file 'PATH': why", where something is that is no regular file (a device, a folder), and
  /// where nothing can be written. From the first on, an interrupt or a hang-up that ends the process takes the hidden
  /// file along, unless the process handles that signal itself; and a limit on the size of files is an error of keep().
  NewFile(std::string_view what, const std::string& path);
  /// Without keep() nothing is left.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes);

  /// Puts it in its place. Throws OutputError where any of it could not be written.
  void keep();

  /// Removes what killed writers left in a folder: O(entries). What cannot be looked at or removed stays.
  static void remove_abandoned(const std::string& folder);

  /// Removes the one that is not kept yet, if there is one. A signal's handler may call it that is about to end the
  /// process.
  static void remove_unfinished();

 private:
  const std::string what_, path_;
  std::string beside_;  // empty once it is in its place
  int file_ = -1;
  int error_ = 0;                // of the first write that failed
  bool is_for_handler_ = false;  // it is what remove_unfinished removes
};

}  // namespace latchlab
