"""A trace of the accesses to RocksDB's block cache, and what two memories of blocks would do with it: exact counts of a model in Python.

The model is near memory as RocksDB's LRUCache (its shards, one list each) over far memory as ours (one clock hand, services/rocksdb):

    access --near?--> moves to the end of its shard's list
           --far?---> the rule says whether it goes up. It leaves far memory then. With promote=2 the first hit leaves the
                      block's key in its list, as RocksDB does; if it is still there at the next hit, the block goes up
           --else---> a miss: the block is read, and comes into near memory (far-first: into far memory)
    a block that leaves near memory is offered to far memory, which takes it as the rule says
"""
import array
import struct
import zlib
from collections import OrderedDict, deque

from input_error import InputError

DATA_BLOCK = 9      # RocksDB's TraceType of an access to a data block
HEAD = struct.Struct("<QBI")   # time, type, bytes of the record
NEAR_EXTRA = 100    # bytes that the LRUCache counts for a block beside its content: the object, the handle and the key; and for a key alone
FAR_EXTRA = 48      # bytes of a block in far memory beside its content: head, key, and the allocator's


def read(path):
    """Returns the accesses to data blocks: the numbers of the blocks, from 0 on, and the bytes of each block. Raises InputError."""
    numbers, sizes, accesses = {}, [], array.array("I")
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at + HEAD.size <= len(data):
        _, kind, length = HEAD.unpack_from(data, at)
        at += HEAD.size
        if at + length > len(data):
            raise InputError(f"{path}: the record at byte {at - HEAD.size} is cut off")
        if kind == DATA_BLOCK:
            key_bytes = data[at]   # keys are short, so that the varint has one byte
            key = data[at + 1:at + 1 + key_bytes]
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(sizes)
                sizes.append(int.from_bytes(data[at + 1 + key_bytes:at + 9 + key_bytes], "little"))
            accesses.append(number)
        at += length
    if not accesses:
        raise InputError(f"{path}: there is no access to a data block")
    return accesses, sizes


class Lru:
    """A list of blocks by their last use, up to a limit of bytes."""

    def __init__(self, limit):
        self.limit, self.used, self.blocks = limit, 0, OrderedDict()

    def touch(self, block):
        if block not in self.blocks:
            return False
        self.blocks.move_to_end(block)
        return True

    def room(self, size):
        """Removes blocks until there is room. Yields them."""
        while self.used + size > self.limit and self.blocks:
            block, its_size = self.blocks.popitem(last=False)
            self.used -= its_size
            yield block

    def put(self, block, size):
        if size <= self.limit:
            self.blocks[block] = size
            self.used += size

    def drop(self, block):
        """Removes a block. Returns whether it was there."""
        size = self.blocks.pop(block, None)
        self.used -= size or 0
        return size is not None


class Clock:
    """Blocks in a ring with one hand and a mark each, up to a limit of bytes."""

    def __init__(self, limit):
        self.limit, self.used, self.marks, self.ring, self.was_full = limit, 0, {}, deque(), False

    def touch(self, block):
        if block not in self.marks:
            return False
        self.marks[block][0] = True
        return True

    def put(self, block, size):
        self.was_full |= self.used + size > self.limit
        while self.used + size > self.limit and self.ring:
            other = self.ring.popleft()
            its = self.marks.get(other[0])
            if its is not other[1]:
                continue   # it has left
            if its[0]:
                its[0] = False
                self.ring.append(other)
            else:
                self.take(other[0])
        entry = self.marks[block] = [True, size]
        self.ring.append((block, entry))
        self.used += size

    def take(self, block):
        self.used -= self.marks.pop(block)[1]


class Ghosts:
    """The blocks that were offered lately: at least the last `most` of them, at most twice as many."""

    def __init__(self, most):
        self.most, self.new, self.old = most, set(), set()

    def remember(self, block):
        """Returns whether the block was there. It is there now."""
        known = block in self.new or block in self.old
        self.new.add(block)
        if len(self.new) >= self.most:
            self.old, self.new = self.new, set()
        return known


def key_alone(block):
    """Returns the name of a block's key in a list that has not the block."""
    return -1 - block


class Tiers:
    """Two memories of blocks under a rule: near-first or far-first, with the touch in far memory at which a block goes up (1, 2, or 0: never),
    and whether far memory takes a block at its second offer only."""

    def __init__(self, near, far, first="near", promote=1, second_touch=False, ghosts=2.0, shards=4):
        self.near = [Lru(near // shards) for _ in range(shards)]
        self.far, self.first, self.promote = Clock(far), first, promote
        self.ghosts = Ghosts(max(1, int(ghosts * far / 4096))) if second_touch else None
        self.near_hits = self.far_hits = self.misses = self.far_writes = 0

    def access(self, block, size):
        near = self.near[zlib.crc32(block.to_bytes(4, "little")) % len(self.near)]
        if near.touch(block):
            self.near_hits += 1
            return
        if self.far.touch(block):
            self.far_hits += 1
            if self.promote == 0:
                return
            if self.promote == 2 and not near.drop(key_alone(block)):
                self.make_room(near, size + NEAR_EXTRA)   # for the caller's copy, which goes at once
                near.put(key_alone(block), NEAR_EXTRA)
                return
            self.far.take(block)
        else:
            self.misses += 1
            near.drop(key_alone(block))
            if self.first == "far":
                self.write_far(block, size)
                return
        self.make_room(near, size + NEAR_EXTRA)
        near.put(block, size + NEAR_EXTRA)

    def make_room(self, near, size):
        for block in near.room(size):
            if block >= 0:
                self.offer(block)

    def offer(self, block):
        size = self.sizes[block]
        known = self.ghosts is None or self.ghosts.remember(block)
        if known or not self.far.was_full:
            self.write_far(block, size)

    def write_far(self, block, size):
        if size + FAR_EXTRA <= self.far.limit:
            self.far_writes += 1
            self.far.put(block, size + FAR_EXTRA)

    def run(self, accesses, sizes):
        self.sizes = sizes
        for block in accesses:
            self.access(block, sizes[block])
        return self
