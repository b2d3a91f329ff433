#pragma once

#include "src/arch/wide.h"

namespace latchlab {

/// While it lives, loops run word by word (wide.h), as they do on processors that must not run wide ones. No other thread may
/// begin one meanwhile.
class OneLaneOnly {
 public:
  OneLaneOnly() { wide_detail::chosen.store(wide_detail::Chosen::kNarrow, kRelaxed); }
  ~OneLaneOnly() { wide_detail::choose(); }
  OneLaneOnly(const OneLaneOnly&) = delete;
  OneLaneOnly& operator=(const OneLaneOnly&) = delete;
};

}  // namespace latchlab
