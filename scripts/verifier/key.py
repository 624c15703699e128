"""The key file (docs/proof-format.md, "The key file")."""

import hashlib
from dataclasses import dataclass

from . import graph, layout, soundness
from .errors import require
from .field import P
from .protobuf import decode
from .schema import Graph, Key, Security

MAGIC = b"PM.key\r\n"
VERSION = 1
MOST_BYTES = 32 << 20
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


def _digest(data):
    require(len(data) in (0, 32), "the key's root is not a digest")
    limbs = tuple(int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4))
    require(all(limb < P for limb in limbs), "a limb of the key's root is not below p")
    return limbs
