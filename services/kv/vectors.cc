#include "services/kv/vectors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "services/kv/counters.h"
#include "services/kv/item.h"
#include "src/base/words.h"

namespace latchlab::kv {

namespace {

vectors::Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

[[noreturn]] void refuse(vectors::Status status, std::string_view function, vectors::Element element) {
  throw WrongVector{vectors::why(status, function, element)};
}

std::string no_such(std::string_view what, const auto& names) {
  return fmt::format("no {} has that name; there are {}", what, fmt::join(names, ", "));
}

/// Returns the value that the word names.
template <class Enum>
Enum named(std::string_view name, std::string_view what) {
  if (const auto value = value_of_word<Enum>(name)) return *value;
  throw WrongVector{no_such(what, kWords<Enum>)};
}

/// Calls use(item) for the item of a key, as a lookup. Returns what it returns; nothing if the key is absent.
template <class Use>
std::optional<std::string> look_up(const Desk& desk, const Key& key, const Use& use) {
  std::optional<std::string> result;
  desk.session.find({&key, 1}, desk.now, kAlone, [&](std::size_t, Store::Items items) {
    if (!items[0]) return;
    items[0]->access(desk.now.second);
    desk.session.note_moved(items[0]->value().size());
    result = use(items[0]->value());
  });
  desk.counts.add<&KvCounters::cmd_get>();
  result ? desk.counts.add<&KvCounters::get_hits>() : desk.counts.add<&KvCounters::get_misses>();
  return result;
}

}  // namespace

vectors::Update vector_update(std::string_view function, std::string_view type, std::string_view operands) {
  const auto element = named<vectors::Element>(type, "type of elements");
  const auto named_function = vectors::update_of_name(function);
  if (!named_function) throw WrongVector{no_such("function", vectors::update_names())};
  const bool for_all = operands.size() == vectors::operands_of(*named_function) * vectors::size_of(element);
  vectors::Update update(element, *named_function, for_all ? vectors::Operands::kForAll : vectors::Operands::kForEach,
                         bytes_of(operands));
  if (const vectors::Status status = update.check(); status != vectors::Status::kDone)
    throw WrongVector{vectors::why(status, update)};
  return update;
}

VectorReduction vector_reduction(std::string_view function, std::string_view type) {
  const VectorReduction made{named<vectors::Element>(type, "type of elements"),
                             named<vectors::Reduction>(function, "function")};
  if (const vectors::Status status = reduce(made.element, made.reduction, {}).status; status != vectors::Status::kDone)
    refuse(status, function, made.element);
  return made;
}

vectors::Filter vector_filter(std::string_view comparison, std::string_view type, std::string_view operand) {
  const auto element = named<vectors::Element>(type, "type of elements");
  const auto number = vectors::Number::of_bytes(element, bytes_of(operand));
  if (!number) throw WrongVector{"the operand is not one element of " + std::string(type)};
  return {named<vectors::Comparison>(comparison, "comparison"), *number};
}

VectorUpdated update_vector(const Desk& desk, const Key& key, const vectors::Update& update, u64 cas,
                            bool shows_before) {
  using Kind = VectorUpdated::Kind;
  VectorUpdated updated;
  std::string made;
  vectors::Status status = vectors::Status::kDone;
  const auto decide = [&](const Item* before) {
    updated.kind = Kind::kAbsent;
    status = vectors::Status::kDone;
    if (before == nullptr) return Wish::leave();
    updated.kind = cas != 0 && before->cas() != cas ? Kind::kOtherCas : Kind::kDone;
    if (updated.kind == Kind::kOtherCas) return Wish::leave();
    const std::string_view old = before->value();
    made.resize(old.size());
    status = apply(update, bytes_of(old), std::as_writable_bytes(std::span(made)));
    if (status != vectors::Status::kDone) return Wish::leave();
    if (shows_before) updated.value = old;
    updated.fields = before->fields();
    updated.fields.cas = desk.session.next_cas();
    return Wish::put(updated.fields, made).marked(Mark::kUsed);
  };
  (void)desk.session.change(key, desk.now, decide);
  if (status != vectors::Status::kDone) throw WrongVector{vectors::why(status, update)};
  if (!shows_before) updated.value = std::move(made);
  return updated;
}

std::optional<std::string> reduce_vector(const Desk& desk, const Key& key, const VectorReduction& reduction) {
  vectors::Reduced reduced{vectors::Status::kDone, {}};
  const auto text = look_up(desk, key, [&](std::string_view value) {
    reduced = reduce(reduction.element, reduction.reduction, bytes_of(value));
    return reduced.number.text();
  });
  if (reduced.status != vectors::Status::kDone) refuse(reduced.status, word(reduction.reduction), reduction.element);
  return text;
}

std::optional<std::string> filter_vector(const Desk& desk, const Key& key, const vectors::Filter& filter,
                                         bool as_bitmap) {
  const vectors::Element element = filter.operand.element();
  vectors::Filtered filtered{vectors::Status::kDone};
  const auto found = look_up(desk, key, [&](std::string_view value) {
    std::string out(as_bitmap ? vectors::bitmap_bytes(element, value.size()) : value.size(), '\0');
    const std::span<std::byte> room = std::as_writable_bytes(std::span(out));
    filtered = as_bitmap ? filter_bitmap(filter, bytes_of(value), room) : filter_matches(filter, bytes_of(value), room);
    if (!as_bitmap) out.resize(filtered.matches * vectors::size_of(element));
    return out;
  });
  if (filtered.status != vectors::Status::kDone) refuse(filtered.status, word(filter.comparison), element);
  return found;
}

}  // namespace latchlab::kv
