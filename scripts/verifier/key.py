"""The key file (docs/proof-format.md, "The key file")."""

import hashlib
import math
import struct
from dataclasses import dataclass

from . import graph, layout, soundness
from .errors import require
from .field import P
from .protobuf import decode
from .schema import Graph, Key, Security

MAGIC = b"PM.key\r\n"
VERSION = 1
MOST_BYTES = 32 << 20
MOST_FILES = 1 << 16
MOST_RANGES = 3 << 20
MOST_TARGET = 120
MOST_GRIND = 24


@dataclass
class Parameters:
    """Of the opening."""
    levels: list
    mode: int  # of soundness


@dataclass
class VerifyingKey:
    commitment: bytes  # the key digest
    graph: Graph
    security: Security
    parameters: Parameters
    root: tuple  # digest of the fixed tensors' tree, empty without any
    trees: list  # in their order; the roots of witness trees come with a proof


def read(data):
    """The key in a file of these bytes. Raises Invalid."""
    require(len(data) <= MOST_BYTES, "the key is too long")
    require(data[:8] == MAGIC, "this is not a key")
    require(data[8:12] == VERSION.to_bytes(4, "little"), "the key has another version")
    key = decode(Key, data[12:])
    require(key.graph and key.security and key.opening, "the key lacks its graph or parameters")
    graph.check(key.graph)
    if key.source is not None:
        _check_source(key.source)
    security = key.security
    require(0 < security.target_bits <= MOST_TARGET, f"the key wants {security.target_bits} bits of security")
    require(security.grind_bits <= MOST_GRIND, f"the key allows {security.grind_bits} bits of work")
    levels = key.opening.levels
    trees, row_bits = layout.trees(key.graph, levels[0].row_vars if levels else 0)
    require(bool(trees) == bool(levels), "the key's levels do not go with what is committed")
    soundness.check_levels(levels, security, row_bits)
    root = _digest(key.root)
    require(bool(root) == any(tree.name == layout.FIXED_TREE for tree in trees),
            "the key's root does not go with its fixed tensors")
    commitment = hashlib.sha256(b"prove-model key\n" + data).digest()
    return VerifyingKey(commitment, key.graph, security, Parameters(levels, security.soundness), root, trees)


def _check_source(source):
    """What the key says that it was made from; no proof depends on it."""
    require(0 < len(source.files) <= MOST_FILES and all(len(f.sha256) == 32 for f in source.files),
            "source: its files")
    require(source.quantiser > 0, "source: no version of the quantiser")
    for bits in (source.weight_bits, source.activation_bits, source.table_bits):
        require(0 < bits <= 64, f"source: {bits} bits")
    headroom, = struct.unpack("<d", source.headroom.to_bytes(8, "little"))
    require(math.isfinite(headroom) and headroom >= 1, "source: its headroom")
    require(0 < source.chunk_entries < 1 << 63, "source: its chunks")
    require(len(source.ranges) <= MOST_RANGES and len(source.ranges) % 3 == 0 and max(source.ranges, default=0) < 1 << 28,
            "source: its ranges")


def _digest(data):
    require(len(data) in (0, 32), "the key's root is not a digest")
    limbs = tuple(int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4))
    require(all(limb < P for limb in limbs), "a limb of the key's root is not below p")
    return limbs
