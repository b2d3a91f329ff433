#include "services/kv/memcached_vectors.h"

#include <optional>

#include "services/kv/memcached_commands.h"
#include "services/kv/vectors.h"
#include "src/wire/memcached_answers.h"

namespace latchlab::kv {

namespace {

void append(const MemcachedCommand& command, std::string& out, MetaStatus status, const MetaItem& item = {}) {
  if (!is_quiet(command, status)) append_meta_line(out, command, status, item);
}

void update(const Desk& desk, const MemcachedCommand& command, const Key& key, std::string& out) {
  const auto update = vector_update(command.function, command.element, command.value);
  const VectorUpdated updated = update_vector(desk, key, update, command.cas, command.mode == 'O');
  switch (updated.kind) {
    case VectorUpdated::Kind::kAbsent: return append(command, out, MetaStatus::kNotFound);
    case VectorUpdated::Kind::kOtherCas: return append(command, out, MetaStatus::kExists);
    case VectorUpdated::Kind::kDone: break;
  }
  const MetaStatus status = command.has('v') ? MetaStatus::kValue : MetaStatus::kDone;
  if (is_quiet(command, status)) return;
  append_meta_line(out, command, status,
                   {.cas = updated.fields.cas,
                    .bytes = updated.value.size(),
                    .ttl = seconds_left(updated.fields.expires, desk.now)});
  if (status == MetaStatus::kValue) append_value(out, updated.value);
}

/// Appends what mr or mf has found.
void append_found(const MemcachedCommand& command, std::string& out, const std::optional<std::string>& found) {
  if (!found) return append(command, out, MetaStatus::kMiss);
  append_meta_line(out, command, MetaStatus::kValue, {.bytes = found->size()});
  append_value(out, *found);
}

}  // namespace

void answer_vectors(const Desk& desk, const MemcachedCommand& command, std::string& out) {
  desk.counts.add<&KvCounters::cmd_meta>();
  KeyRoom room;
  const Key key = desk.server.store().key(memcached_key(command, room));
  switch (command.verb) {
    case MemcachedVerb::kVectorUpdate: return update(desk, command, key, out);
    case MemcachedVerb::kVectorReduce:
      return append_found(command, out, reduce_vector(desk, key, vector_reduction(command.function, command.element)));
    default: break;
  }
  const auto filter = vector_filter(command.function, command.element, command.value);
  append_found(command, out, filter_vector(desk, key, filter, command.mode == 'B'));
}

}  // namespace latchlab::kv
