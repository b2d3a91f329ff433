#pragma once
// The pages of a file, which libmemkind allocates: in a folder of a tmpfs or of a DAX file system, or of a DAX device.
//
// It needs libmemkind-dev when the project is built. memkind_pages_missing.cc stands for memkind_pages.cc in a build
// without it.

#include <memory>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/memory/page_source.h"

namespace latchlab {

/// Returns a source of up to `size` bytes of pages. It has no reservations, so arrays that grow in place cannot lie on
/// it. Throws InputError, which begins with `what`, if the path is neither a folder nor a device, if it cannot be used,
/// if the folder's files are mapped through the page cache (file_system.h), or if this build has no libmemkind.
[[nodiscard]] std::shared_ptr<PageSource> memkind_pages(const std::string& path, u64 size, std::string_view what);

}  // namespace latchlab
