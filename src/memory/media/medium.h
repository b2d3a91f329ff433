#pragma once
// A medium: the memory on which far bytes lie, as MediumOptions name it.
//
//     node     pages bound to the node, which the kernel neither swaps out nor moves to another node by itself
//     file     pages of a file that libmemkind makes in the folder, or the pages of a DAX device
//     model    this machine's pages; a copy from or to them is charged (medium_charge.h)

#include <memory>
#include <optional>
#include <string>

#include "src/memory/media/medium_options.h"
#include "src/memory/memory_config.h"
#include "src/memory/page_source.h"

namespace latchlab {

class Medium {
 public:
  /// Opens the medium. `what` names the options in errors. Throws NoRoom for a node that is not there or has no memory,
  /// and InputError for a folder or a device that cannot be used, or if this build has no libmemkind.
  Medium(const MediumOptions& options, std::string_view what);
  Medium(const Medium&) = delete;
  Medium& operator=(const Medium&) = delete;
  ~Medium();

  const MediumOptions& options() const { return options_; }
  bool is_modelled() const { return options_.kind == MediumKind::kModel; }

  /// Returns the configuration of a memory on this medium, which must outlive it: `base` with this source and
  /// placement, the medium's size as its limit, and chunks, since the machine's allocator knows no medium.
  [[nodiscard]] MemoryConfig memory(MemoryConfig base) const;

 private:
  const MediumOptions options_;
  std::shared_ptr<PageSource> pages_;  // null: those of the machine
};

}  // namespace latchlab
