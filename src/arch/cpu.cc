#include "src/arch/cpu.h"

#include <cpuid.h>

#include <fstream>

namespace latchlab {

CpuName cpu_name() {
  CpuName name{"unknown", "unknown"};
  std::ifstream file("/proc/cpuinfo");
  const auto take = [](const std::string& line, std::string_view key, std::string& into) {
    if (!line.starts_with(key)) return;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) into = line.substr(colon + 2);
  };
  // An empty line ends the first processor.
  for (std::string line; std::getline(file, line) && !line.empty();) {
    take(line, "model name", name.model);
    take(line, "microcode", name.microcode);
  }
  return name;
}

bool has_invariant_tsc() {
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}

}  // namespace latchlab
