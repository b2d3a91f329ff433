// Makes latchlab://... a secondary cache of every program that loads this library, such as RocksDB's own db_bench:
//
//     LD_PRELOAD=.../liblatchlab_rocksdb.so db_bench --secondary_cache_uri=latchlab://size=64Mi ...
//
// RocksDB would say of a wrong word only that no cache was registered. So a wrong word ends the process here, with one
// line and status 2.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/utilities/object_registry.h>

#include "services/rocksdb/secondary_cache.h"
#include "src/base/error.h"
#include "src/base/new_file.h"

namespace latchlab::tier {

namespace {

/// Ends the process. Runs no destructors: they are another program's.
[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::fflush(nullptr);
  std::_Exit(2);
}

/// The tiers whose counts are still to be written. Programs may leave a cache to the end of the process without a
/// destructor, as db_bench does.
class Unwritten {
 public:
  void add(const TierCache& cache) {
    const std::scoped_lock lock(mutex_);
    caches_.insert(&cache);
  }
  /// Writes the counts of a cache, once.
  void write(const TierCache& cache) {
    const std::scoped_lock lock(mutex_);
    if (caches_.erase(&cache) != 0) write_counts(cache);
  }
  void write_all() {
    const std::scoped_lock lock(mutex_);
    for (const TierCache* const cache : caches_) write_counts(*cache);
    caches_.clear();
  }

 private:
  static void write_counts(const TierCache& cache) {
    try {
      cache.write_stats();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "latchlab: %s\n", error.what());
    }
  }

  std::mutex mutex_;
  std::set<const TierCache*> caches_;
};

/// Is never destroyed, since a cache may end after the library's static objects.
Unwritten& unwritten() {
  static Unwritten* const kUnwritten = new Unwritten;
  return *kUnwritten;
}

/// A tier that writes its counts before it ends.
class Registered final : public TierCache {
 public:
  Registered(const std::string& uri, TierOptions options) : TierCache(uri, std::move(options)) {
    unwritten().add(*this);
  }
  ~Registered() override { unwritten().write(*this); }
};

rocksdb::SecondaryCache* make(const std::string& uri, std::unique_ptr<rocksdb::SecondaryCache>* guard,
                              std::string* error) {
  try {
    TierOptions options = parse_uri(uri);
    // A file that cannot be written is refused now, not after the run.
    if (!options.stats.empty()) const NewFile probe("stats", options.stats);
    *guard = std::make_unique<Registered>(uri, std::move(options));
    return guard->get();
  } catch (const InputError& wrong) {
    refuse(fmt::format("{}: {}", uri, wrong.what()));
  } catch (const std::bad_alloc&) {
    refuse(fmt::format("{}: this machine lacks the memory for a tier of this size", uri));
  } catch (const std::exception& failure) {
    *error = failure.what();
    return nullptr;
  }
}

/// Matches "latchlab" alone and all that begins with "latchlab:", so that `make` can say what is wrong with it.
const bool kRegistered = [] {
  using rocksdb::ObjectLibrary;
  const auto pattern = ObjectLibrary::PatternEntry(std::string(kScheme)).AddSeparator(":", false);
  ObjectLibrary::Default()->AddFactory<rocksdb::SecondaryCache>(pattern, make);
  return std::atexit([] { unwritten().write_all(); }) == 0;
}();

}  // namespace

}  // namespace latchlab::tier
