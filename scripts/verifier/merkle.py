"""Leaves and Merkle openings (docs/proof-format.md, "Streams and the transcript")."""

from .errors import require
from .field import P
from .poseidon2 import RATE, WIDTH, permute

LEAF = 0x6C656166  # "leaf"
GROUPS = 0x67727073  # "grps"


def hash_message(limbs):
    """The digest of limbs."""
    return _sponge(limbs, len(limbs), LEAF)


def hash_leaf(groups):
    """The digest of a leaf of one or more groups of limbs."""
    digests = [hash_message(group) for group in groups]
    if len(digests) == 1:
        return digests[0]
    return _sponge([limb for digest in digests for limb in digest], len(digests), GROUPS)


def _sponge(limbs, length, tag):
    state = [0] * WIDTH
    state[8], state[9] = length, tag
    for i in range(0, max(len(limbs), 1), RATE):
        block = limbs[i:i + RATE]
        state[:len(block)] = block
        state = permute(state)
    return tuple(state[:RATE])


def compress(left, right):
    out = permute(left + right)
    return tuple((a + b) % P for a, b in zip(out, left))


def check_opening(stream, root, depth, positions, leaves, name):
    """Leaves, as lists of groups, at increasing positions of a tree; missing
    siblings are hints."""
    known = [(p, hash_leaf(leaf)) for p, leaf in zip(positions, leaves)]
    for _ in range(depth):
        parents, i = [], 0
        while i < len(known):
            position, digest = known[i]
            i += 1
            if position & 1:
                pair = stream.hints(8), digest
            elif i < len(known) and known[i][0] == position + 1:
                pair = digest, known[i][1]
                i += 1
            else:
                pair = digest, stream.hints(8)
            parents.append((position >> 1, compress(*pair)))
        known = parents
    require(known[0][1] == root, f"{name}: the Merkle opening has another root")
