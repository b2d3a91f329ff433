#include "src/memory/media/file_system.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace latchlab {
namespace {

using namespace std::string_view_literals;

constexpr long kXfs = 0x58465342, kZfs = 0x2fc12fc1, kFuse = 0x65735546;  // not in linux/magic.h
constexpr std::array kNames{
    std::pair{long{TMPFS_MAGIC}, "tmpfs"sv},
    std::pair{long{RAMFS_MAGIC}, "ramfs"sv},
    std::pair{long{EXT4_SUPER_MAGIC}, "ext4"sv},  // of ext2 and ext3, too
    std::pair{kXfs, "xfs"sv},
    std::pair{long{BTRFS_SUPER_MAGIC}, "btrfs"sv},
    std::pair{kZfs, "zfs"sv},
    std::pair{long{OVERLAYFS_SUPER_MAGIC}, "overlayfs"sv},
    std::pair{long{NFS_SUPER_MAGIC}, "nfs"sv},
    std::pair{kFuse, "fuse"sv},
    std::pair{long{HUGETLBFS_MAGIC}, "hugetlbfs"sv},
};

bool maps_dax(const std::string& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return false;
  struct statx facts{};
  const bool told = statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &facts) == 0;
  close(file);
  return told && (facts.stx_attributes & STATX_ATTR_DAX) != 0;
}

}  // namespace

std::optional<FileSystem> file_system_of(const std::string& folder) {
  struct statfs facts{};
  if (statfs(folder.c_str(), &facts) != 0) return std::nullopt;
  FileSystem out;
  const auto known =
      std::ranges::find(kNames, static_cast<long>(facts.f_type), &std::pair<long, std::string_view>::first);
  out.name = known != kNames.end() ? known->second : fmt::format("0x{:x}", static_cast<unsigned long>(facts.f_type));
  out.is_memory = facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
  out.maps_dax = maps_dax(folder);
  return out;
}

}  // namespace latchlab
