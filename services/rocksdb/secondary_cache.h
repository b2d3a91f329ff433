#pragma once

// The tier as RocksDB sees it: a SecondaryCache (rocksdb/secondary_cache.h) over a BlockStore.
//
//     RocksDB's LRUCache  --evicts: Insert-->  BlockStore      saveto_cb writes the block at its place: one copy
//                         <--misses: Lookup--                  create_cb reads it there: one copy
//
// The rule is the exclusive one: a block is in the LRUCache or in the tier. RocksDB 7.8 has two ways to promote a block
// that a Lookup has found, and SupportForceErase says which:
//
//   promote=1   (false) every block that is found goes up to the LRUCache. So every Lookup takes the block away
//   promote=2   (true) the first hit gives the caller a block of its own, which goes when the caller releases it. It
//               stays in the tier, and the LRUCache keeps its key without a block. If that key is still there at the
//               next hit, Lookup comes with advise_erase, the block leaves the tier and goes up
//
// rule=second-touch spares far memory writes of blocks that nobody reads again. Until the tier is full it takes each
// block that it is offered. Then it remembers the key of a block, and takes the block when it is offered again.
//
// Version: this is the interface of RocksDB 7.8. That of 8.x and later differs (helpers instead of callbacks, other
// results, types of compression). A version gets an implementation of its own beside this one, and cmake/rocksdb.cmake
// chooses the file: it is the only place that knows versions.
//
// RocksDB must see no exception. Each override that could throw catches all.

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/secondary_cache.h>

#include "services/rocksdb/block_store.h"
#include "services/rocksdb/copy_speed.h"
#include "services/rocksdb/ghosts.h"
#include "services/rocksdb/options.h"
#include "src/memory/media/medium.h"

namespace latchlab::tier {

class TierCache : public rocksdb::SecondaryCache {
 public:
  /// Makes an empty tier. Throws std::bad_alloc, and as Medium's constructor does.
  TierCache(std::string uri, TierOptions options);

  static const char* kClassName() { return "latchlab"; }
  const char* Name() const override { return kClassName(); }
  std::string GetId() const override { return uri_; }

  rocksdb::Status Insert(const rocksdb::Slice& key, void* value,
                         const rocksdb::Cache::CacheItemHelper* helper) override;
  std::unique_ptr<rocksdb::SecondaryCacheResultHandle> Lookup(const rocksdb::Slice& key,
                                                              const rocksdb::Cache::CreateCallback& create_cb,
                                                              bool wait, bool advise_erase,
                                                              bool& is_in_sec_cache) override;
  [[nodiscard]] bool SupportForceErase() const override { return options_.promote == 2; }
  void Erase(const rocksdb::Slice& key) override;
  void WaitAll(std::vector<rocksdb::SecondaryCacheResultHandle*> handles) override;
  rocksdb::Status GetCapacity(size_t& capacity) override;
  std::string GetPrintableOptions() const override;

  /// Returns the counts as JSON; exact while no operation runs.
  [[nodiscard]] std::string counts_json() const;
  /// Writes the counts to the file of the options, if there is one. Throws InputError or OutputError.
  void write_stats() const;

 private:
  /// Returns whether the store shall take a block that RocksDB's cache has evicted.
  bool takes(const rocksdb::Slice& key);

  const std::string uri_;
  const TierOptions options_;
  const std::optional<Medium> medium_;        // the heap, if there is none
  std::optional<BlockStore::Charge> charge_;  // if the medium is a model
  const std::optional<CopySpeed> speed_;      // if there is a file for the counts
  BlockStore store_;
  std::optional<Ghosts> ghosts_;  // for second-touch
  std::atomic<u64> passed_{0};    // blocks that were offered and remembered, and not taken
};

}  // namespace latchlab::tier
