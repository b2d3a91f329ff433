// Says whether transactions work in a process of this machine: ./bench elide runs it before it preloads the library.
//
// It prints the reason and exits with status 1 if they do not. It is a program of its own because the probe starts
// threads and catches a signal, which no program expects of a lock.
#include <cstdio>

#include "src/arch/features.h"

int main() {
  const auto why = latchlab::why_no_rtm();
  if (why) std::puts(why->c_str());
  return why ? 1 : 0;
}
