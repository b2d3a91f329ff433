#include "src/wire/memcached_answers.h"

namespace latchlab {

namespace {

void append_flag(std::string& out, char letter) {
  out += ' ';
  out += letter;
}

template <class T>
void append_flag(std::string& out, char letter, T number) {
  append_flag(out, letter);
  append_number(out, number);
}

/// Appends what the flag asks for about an item that mg or ma has found. Other flags ask for nothing.
void append_of_item(std::string& out, MetaFlag flag, const MetaItem& item, bool is_get) {
  switch (flag.letter) {
    case 'c': return append_flag(out, 'c', item.cas);
    case 't': return append_flag(out, 't', item.ttl);
    default: break;
  }
  if (!is_get) return;
  switch (flag.letter) {
    case 's': return append_flag(out, 's', item.bytes);
    case 'f': return append_flag(out, 'f', item.flags);
    case 'l': return append_flag(out, 'l', item.idle);
    case 'h': return append_flag(out, 'h', item.hit ? 1 : 0);
    default: return;
  }
}

}  // namespace

void append_status(std::string& out, MemcachedStatus status) { out.append(word(status)).append(kLineEnd); }

void append_value_line(std::string& out, std::string_view key, u32 flags, u64 bytes, std::optional<u64> cas) {
  out.append("VALUE ").append(key) += ' ';
  append_number(out, flags);
  out += ' ';
  append_number(out, bytes);
  if (cas) {
    out += ' ';
    append_number(out, *cas);
  }
  out += kLineEnd;
}

void append_value(std::string& out, std::string_view value) { out.append(value).append(kLineEnd); }

void append_number_line(std::string& out, u64 number) {
  append_number(out, number);
  out += kLineEnd;
}

void append_stat(std::string& out, std::string_view name, std::string_view value) {
  out.append("STAT ").append(name).append(" ").append(value).append(kLineEnd);
}

void append_stat(std::string& out, std::string_view name, u64 value) {
  out.append("STAT ").append(name) += ' ';
  append_number_line(out, value);
}

void append_version(std::string& out, std::string_view version) {
  out.append("VERSION ").append(version).append(kLineEnd);
}

void append_client_error(std::string& out, std::string_view text) {
  out.append("CLIENT_ERROR ").append(text).append(kLineEnd);
}

void append_server_error(std::string& out, std::string_view text) {
  out.append("SERVER_ERROR ").append(text).append(kLineEnd);
}

bool is_quiet(const MemcachedCommand& command, MetaStatus status) {
  if (!command.noreply) return false;
  switch (command.verb) {
    case MemcachedVerb::kMetaGet:
    case MemcachedVerb::kVectorReduce:
    case MemcachedVerb::kVectorFilter: return status == MetaStatus::kMiss;
    case MemcachedVerb::kVectorUpdate:
    case MemcachedVerb::kMetaSet:
    case MemcachedVerb::kMetaDelete:
    case MemcachedVerb::kMetaArithmetic: return status == MetaStatus::kDone || status == MetaStatus::kValue;
    case MemcachedVerb::kMetaNoOp:
    case MemcachedVerb::kMetaDebug: return false;
    default: return true;
  }
}

void append_meta_line(std::string& out, const MemcachedCommand& command, MetaStatus status, const MetaItem& item) {
  const bool is_get = command.verb == MemcachedVerb::kMetaGet;
  const bool has_item =
      (is_get || command.verb == MemcachedVerb::kMetaArithmetic || command.verb == MemcachedVerb::kVectorUpdate) &&
      (status == MetaStatus::kDone || status == MetaStatus::kValue);
  out += word(status);
  if (status == MetaStatus::kValue) {
    out += ' ';
    append_number(out, item.bytes);
  }
  for (const MetaFlag& flag : command.meta_flags()) {
    if (flag.letter == 'O') {
      append_flag(out, 'O');
      out += flag.token;
    } else if (flag.letter == 'k') {
      append_flag(out, 'k');
      out += command.key();
      if (command.has('b')) append_flag(out, 'b');
    } else if (flag.letter == 'c' && command.verb == MemcachedVerb::kMetaSet) {
      append_flag(out, 'c', item.cas);
    } else if (has_item) {
      append_of_item(out, flag, item, is_get);
    }
  }
  if (has_item && is_get) {
    if (item.sent) append_flag(out, 'Z');
    if (item.stale) append_flag(out, 'X');
    if (item.won) append_flag(out, 'W');
  }
  out += kLineEnd;
}

void append_meta_debug(std::string& out, const MemcachedCommand& command, const MetaDebug& item) {
  out.append("ME ").append(command.key()).append(" exp=");
  append_number(out, item.exptime);
  out += " la=";
  append_number(out, item.idle);
  out += " cas=";
  append_number(out, item.cas);
  out.append(" fetch=").append(item.fetched ? "yes" : "no").append(" cls=");
  append_number(out, item.size_class);
  out += " size=";
  append_number_line(out, item.bytes);
}

}  // namespace latchlab
