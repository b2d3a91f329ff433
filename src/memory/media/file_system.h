#pragma once
// The file system of a folder, and whether a mapping of its files is memory.
//
//     tmpfs, ramfs      the pages of a file are its only copy: stores write memory
//     DAX               a mapping leads to the medium itself, past the page cache
//     any other         a mapping leads to the page cache. Loads and stores run at the speed of DRAM, and the kernel
//                       copies the pages to the disk when it likes

#include <optional>
#include <string>

namespace latchlab {

struct FileSystem {
  std::string name;        ///< as in tmpfs, ext4; 0x and its number if it is not known here
  bool maps_dax = false;   ///< a new file of the folder is mapped without the page cache
  bool is_memory = false;  ///< tmpfs or ramfs

  /// Returns the words for people: "tmpfs", "ext4 with DAX".
  [[nodiscard]] std::string str() const { return maps_dax ? name + " with DAX" : name; }
};

/// Returns the file system of a folder; nothing, with errno, if the folder cannot be read. It makes a file without a
/// name there, since folders have no DAX of their own. A kernel before 5.10 does not tell DAX.
[[nodiscard]] std::optional<FileSystem> file_system_of(const std::string& folder);

}  // namespace latchlab
