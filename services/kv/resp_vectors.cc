// The commands of vectors in redis' protocol. The table of all commands is in resp_commands.cc.
#include "services/kv/resp_vectors.h"

#include <optional>
#include <string>
#include <string_view>

#include "services/kv/vectors.h"

namespace latchlab::kv::resp {

namespace {

/// Returns true if there is one more word, which is `name`. Refuses more words than one.
bool ends_with(const Call& call, std::size_t words, std::string_view name) {
  if (call.words.size() > words + 1) refuse(kSyntax);
  return call.words.size() == words + 1 && is(call.words[words], name);
}

void answer(Call& call, const std::optional<std::string>& found) { found ? call.out.bulk(*found) : call.out.null(); }

}  // namespace

void vec_update(Call& call) {
  const bool shows_old = ends_with(call, 5, "old"), shows_new = ends_with(call, 5, "new");
  if (call.words.size() > 5 && !shows_old && !shows_new) refuse(kSyntax);
  const auto update = vector_update(call.words[2], call.words[3], call.words[4]);
  const VectorUpdated updated = update_vector(call.desk, call.key(1), update, 0, shows_old);
  if (updated.kind == VectorUpdated::Kind::kAbsent) return call.out.null();
  shows_old || shows_new ? call.out.bulk(updated.value) : call.ok();
}

void vec_reduce(Call& call) {
  answer(call, reduce_vector(call.desk, call.key(1), vector_reduction(call.words[2], call.words[3])));
}

void vec_filter(Call& call) {
  const bool as_bitmap = ends_with(call, 5, "bitmap");
  if (call.words.size() > 5 && !as_bitmap) refuse(kSyntax);
  const auto filter = vector_filter(call.words[2], call.words[3], call.words[4]);
  answer(call, filter_vector(call.desk, call.key(1), filter, as_bitmap));
}

}  // namespace latchlab::kv::resp
