# The matrix: every policy, every index, and which policies an index runs under. One line adds one.

#                   word    header              class template
latchlab_add_policy(none    HEADER sync/none.h    TYPE None)
latchlab_add_policy(atomic  HEADER sync/atomic.h  TYPE OneAtomic)
latchlab_add_policy(spin    HEADER sync/spin.h    TYPE Spin)
latchlab_add_policy(rwspin  HEADER sync/rwspin.h  TYPE RwSpin)
latchlab_add_policy(hle     HEADER sync/hle.h     TYPE Hle)
latchlab_add_policy(rtm     HEADER sync/rtm.h     TYPE Rtm)
latchlab_add_policy(olc     HEADER sync/olc.h     TYPE Olc)

latchlab_add_index(art   HEADER indexes/art/art.h    TYPE Art   KEYS u64 bytes)
latchlab_add_index(tbb   HEADER indexes/peers/tbb.h  TYPE Tbb   KEYS u64 bytes  POLICIES own)
latchlab_add_index(null  HEADER indexes/null.h       TYPE Null  KEYS u64 bytes  POLICIES none)
