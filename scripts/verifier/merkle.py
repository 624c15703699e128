"""Leaves of the hash suite poseidon2, and Merkle openings of any (docs/proof-format.md, "Hash suites")."""

from .errors import require
from .field import P
from .packed import limbs
from .poseidon2 import RATE, WIDTH, permute
from .transcript import Transcript

LEAF = 0x6C656166  # "leaf"
GROUPS = 0x67727073  # "grps"
SALTED = 0x73616C74  # "salt"


def _sponge(limbs, length, tag):
    state = [0] * WIDTH
    state[8], state[9] = length, tag
    for i in range(0, max(len(limbs), 1), RATE):
        block = limbs[i:i + RATE]
        state[:len(block)] = block
        state = permute(state)
    return tuple(state[:RATE])


def _message(elements):
    return _sponge(elements, len(elements), LEAF)


class Poseidon2:
    """What commitments and transcripts are hashed with."""

    transcript = Transcript
    GROUP = 512  # rows of a group of fixed tensors
    WITNESS_GROUP = 1 << 16  # of a chunk's, in one group

    @staticmethod
    def words(data, name):
        """The words of a stream: elements, as digests consist of them."""
        return limbs(data, name)

    @staticmethod
    def check_digest(digest, name):
        """Digests consist of elements."""
        require(all(word < P for word in digest), f"{name}: a limb of a digest is not below p")

    @staticmethod
    def hash_public(elements):
        """The digest of a column of a public tensor."""
        return _message(elements)

    @staticmethod
    def hash_leaf(groups):
        """The digest of a leaf of one or more groups of limbs."""
        digests = [_message(group) for group in groups]
        if len(digests) == 1:
            return digests[0]
        return _sponge([limb for digest in digests for limb in digest], len(digests), GROUPS)

    @staticmethod
    def hash_salted(salt, groups):
        digests = [salt] + [_message(group) for group in groups]
        return _sponge([limb for digest in digests for limb in digest], len(digests), SALTED)

    @staticmethod
    def compress(left, right):
        out = permute(left + right)
        return tuple((a + b) % P for a, b in zip(out, left))


def check_opening(stream, root, depth, positions, leaves, name, salts=None):
    """Leaves, as lists of groups, at increasing positions of a tree, with a salt each if there are any; missing
    siblings are hints."""
    digests = map(stream.suite.hash_leaf, leaves) if salts is None else map(stream.suite.hash_salted, salts, leaves)
    known = list(zip(positions, digests))
    for _ in range(depth):
        parents, i = [], 0
        while i < len(known):
            position, digest = known[i]
            i += 1
            if position & 1:
                pair = stream.digest_hint(), digest
            elif i < len(known) and known[i][0] == position + 1:
                pair = digest, known[i][1]
                i += 1
            else:
                pair = digest, stream.digest_hint()
            parents.append((position >> 1, stream.suite.compress(*pair)))
        known = parents
    require(known[0][1] == root, f"{name}: the Merkle opening has another root")
