#include "indexes/art/art.h"
#include "src/machine/native.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

int main() {
  latchlab::Synchronized<latchlab::Art, latchlab::Olc<latchlab::Native>, latchlab::U64Key> index(
      latchlab::Spec::parse("olc"), latchlab::MemoryConfig{});
  auto me = index.join();
  return index.insert(me, 1, 2) && index.find(me, 1) == 2u ? 0 : 1;
}
