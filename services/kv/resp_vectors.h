#pragma once

// Commands of our own in redis' protocol, for values that are vectors (vectors.h). redis answers that it has none of
// their names. Operands are bytes, as the value has them.
//
//     VEC.UPDATE key function type operands [OLD|NEW]    OK, or the value before or after; null: there is no key
//     VEC.REDUCE key function type                       the number as text; null
//     VEC.FILTER key comparison type operand [BITMAP]    the bytes of the elements that match, or a bit for each; null

#include "services/kv/resp_call.h"

namespace latchlab::kv::resp {

void vec_update(Call& call);
void vec_reduce(Call& call);
void vec_filter(Call& call);

}  // namespace latchlab::kv::resp
