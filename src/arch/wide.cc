#include "src/arch/wide.h"

#include "src/arch/features.h"

namespace latchlab {

bool wide_detail::choose() {
  const CpuFlags flags = cpu_flags();
  const bool wide = flags.avx512 && flags.avx512_vbmi2;
  chosen.store(wide ? Chosen::kWide : Chosen::kNarrow, kRelaxed);   // as in runs_wide: the byte is the whole message
  return wide;
}

}  // namespace latchlab
