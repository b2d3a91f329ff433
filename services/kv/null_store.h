#pragma once

// The store that keeps nothing: --index=null. What a server over it takes is the cost of the network, the protocol and
// the client.
//
//     get of any key      one item, whose value is zeros: as many digits as the option value_size says, by default 32
//     any change          answered as if it had been made on an absent key, or if that leaves the key absent, on one
//                         with that item

#include <memory>

#include "services/kv/store.h"
#include "services/kv/store_kinds.h"
#include "src/base/types.h"

namespace latchlab::kv {

/// Returns the kind of store. Its `make` throws InputError for options that it has not, and for a value_size that is
/// not from 0 to 16 Mi less 64 Ki.
[[nodiscard]] StoreKind null_store_kind();

}  // namespace latchlab::kv
