"""The hash suite blake3 (docs/proof-format.md, "Hash suites"), with BLAKE3 written from its paper."""

import struct

from .errors import require
from .field import P

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
QUARTERS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
            (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
CHUNK_START, CHUNK_END, PARENT, ROOT, KEYED, CONTEXT, MATERIAL = (1 << i for i in range(7))
BLOCK, CHUNK = 64, 1024
MASK = (1 << 32) - 1


def _schedule():
    order, rounds = tuple(range(16)), []
    for _ in range(7):
        rounds += [(*QUARTERS[i], order[2 * i], order[2 * i + 1]) for i in range(8)]
        order = tuple(order[i] for i in PERMUTATION)
    return rounds


_STEPS = _schedule()


def _compress(value, block, counter, length, flags):
    """The 16 words that the compression function gives."""
    v = [*value, *IV[:4], counter & MASK, counter >> 32, length, flags]
    for a, b, c, d, x, y in _STEPS:
        va, vb, vc, vd = v[a] + v[b] + block[x] & MASK, v[b], v[c], v[d]
        vd ^= va
        vd = vd >> 16 | vd << 16 & MASK
        vc = vc + vd & MASK
        vb ^= vc
        vb = vb >> 12 | vb << 20 & MASK
        va = va + vb + block[y] & MASK
        vd ^= va
        vd = vd >> 8 | vd << 24 & MASK
        vc = vc + vd & MASK
        vb ^= vc
        v[a], v[b], v[c], v[d] = va, vb >> 7 | vb << 25 & MASK, vc, vd
    return [x ^ y for x, y in zip(v[:8], v[8:])] + [x ^ y for x, y in zip(v[8:], value)]


def _node(key, flags, data, chunk=0):
    """The arguments of the last compression of the tree over data, of which the first chunk has that number."""
    if len(data) > CHUNK:
        chunks = (len(data) - 1) // CHUNK
        left = 1 << (chunks.bit_length() - 1)
        pair = [word for part, at in ((data[:left * CHUNK], chunk), (data[left * CHUNK:], chunk + left))
                for word in _compress(*_node(key, flags, part, at))[:8]]
        return key, pair, 0, BLOCK, flags | PARENT
    value, first = key, CHUNK_START
    for at in range(0, max(len(data) - 1, 0) // BLOCK * BLOCK, BLOCK):
        value, first = _compress(value, _words(data[at:at + BLOCK]), chunk, BLOCK, flags | first)[:8], 0
    rest = data[max(len(data) - 1, 0) // BLOCK * BLOCK:]
    return value, _words(rest.ljust(BLOCK, b"\0")), chunk, len(rest), flags | first | CHUNK_END


def _words(data):
    return struct.unpack(f"<{len(data) // 4}I", data)


def _output(node):
    """Yields the words of the output of a root."""
    value, block, _, length, flags = node
    counter = 0
    while True:
        yield from _compress(value, block, counter, length, flags | ROOT)
        counter += 1


def _first(node):
    output = _output(node)
    return tuple(next(output) for _ in range(8))


def _bytes(words):
    return struct.pack(f"<{len(words)}I", *words)


def keyed_hash(key, data):
    """The keyed hash of bytes, as 8 words; a key has 8 words as well."""
    return _first(_node(key, KEYED, data))


def derive_key(context):
    """The key for a use."""
    return _first(_node(_first(_node(IV, CONTEXT, context.encode())), MATERIAL, b""))


def _key(use):
    return derive_key(f"prove-model blake3 v1: {use}")


COLUMN, GROUPS, NODE, PUBLIC_COLUMN = _key("column"), _key("groups"), _key("node"), _key("public column")
SALTED_LEAF = _key("salted leaf")
DRAW, MOVE, FORK, JOIN, WORK = (_key(f"transcript, {use}") for use in ("draw", "move", "fork", "join", "work"))
ELEMENTS, DIGESTS, NUMBERS, BYTES, NONCE, ENDS = range(1, 7)  # types of items


class Transcript:
    """A chain of keyed hashes. name and trace serve -v alone."""

    def __init__(self, name="", trace=None):
        self.state = bytes(32)
        self.items = []  # type, number, content
        self.name = name
        self.trace = trace

    def _item(self, kind, count, content):
        if self.items and self.items[-1][0] == kind and kind in (ELEMENTS, DIGESTS, NUMBERS):
            _, before, content_before = self.items.pop()
            count, content = before + count, content_before + content
        self.items.append((kind, count, content))

    def _pending(self):
        return self.state + b"".join(struct.pack("<BQ", kind, count) + content for kind, count, content in self.items)

    def absorb_all(self, elements):
        if len(elements) > 0:
            self._item(ELEMENTS, len(elements), _bytes(elements))

    def absorb_digests(self, digests):
        if digests:
            self._item(DIGESTS, len(digests), b"".join(map(_bytes, digests)))

    def absorb_integer(self, n):
        self._item(NUMBERS, 1, struct.pack("<Q", n))

    def absorb_bytes(self, data):
        self._item(BYTES, len(data), bytes(data))

    def _draw(self):
        """Moves on; yields what comes behind the next state, in words."""
        output = _output(_node(DRAW, KEYED, self._pending()))
        self.state, self.items = _bytes([next(output) for _ in range(8)]), []
        return output

    def challenges(self, names):
        """An element of K for each name, all of one draw."""
        values, output = [], self._draw() if names else None
        for name in names:
            limbs = []
            while len(limbs) < 4:
                limb = next(output) & P
                if limb < P:
                    limbs.append(limb)
            values.append(tuple(limbs))
            self._note(name, "%d %d %d %d" % values[-1])
        return values

    def challenge(self, name):
        return self.challenges([name])[0]

    def indexes(self, number, bits, name):
        output = self._draw()
        values = [(next(output) | next(output) << 32) & (1 << bits) - 1 for _ in range(number)]
        self._note(name, " ".join(map(str, values)))
        return values

    def _moved(self):
        """The state after moving on over everything pending."""
        return _bytes(keyed_hash(MOVE, self._pending())) if self.items else self.state

    def _move(self):
        self.state, self.items = self._moved(), []

    def check_work(self, bits, stream, name):
        """A proof of work: the nonce is read from the stream."""
        if bits == 0:
            return
        self._move()
        nonce, = stream.hints(1)
        number = struct.pack("<Q", nonce)
        found = int.from_bytes(_bytes(keyed_hash(WORK, self.state + number)), "big")
        require(found >> 256 - bits == 0, f"{name}: the proof of work fails")
        self._item(NONCE, 1, number)
        self._note(name, f"nonce {nonce}")

    def fork(self, index, name):
        child = Transcript(name, self.trace)
        child.state = _bytes(keyed_hash(FORK, self._moved() + struct.pack("<Q", index)))
        return child

    def join(self, children):
        self._move()
        ends = [_bytes(keyed_hash(JOIN, child._moved())) for child in children]
        self._item(ENDS, len(ends), b"".join(ends))

    def _note(self, name, value):
        if self.trace:
            self.trace(f"{self.name}: {name} = {value}")


class Suite:
    """What commitments and transcripts are hashed with."""

    transcript = Transcript
    GROUP = WITNESS_GROUP = 256  # rows of a group, of fixed tensors and of a chunk's

    @staticmethod
    def words(data, name):
        """The words of a stream: elements, and those of digests."""
        require(len(data) % 4 == 0, f"{name}: not a number of words")
        return _words(data)

    @staticmethod
    def check_digest(digest, name):
        """Any words are a digest."""

    @staticmethod
    def hash_public(limbs):
        """The digest of a column of a public tensor."""
        return keyed_hash(PUBLIC_COLUMN, _bytes(limbs))

    @staticmethod
    def hash_leaf(groups):
        """The digest of a leaf of one or more groups of limbs."""
        digests = Suite._digests(groups)
        return digests[0] if len(digests) == 1 else keyed_hash(GROUPS, b"".join(map(_bytes, digests)))

    @staticmethod
    def hash_salted(salt, groups):
        """The digest of a leaf with a salt."""
        return keyed_hash(SALTED_LEAF, b"".join(map(_bytes, [salt, *Suite._digests(groups)])))

    @staticmethod
    def _digests(groups):
        parts = [group[at:at + Suite.GROUP] for group in groups for at in range(0, len(group), Suite.GROUP)]
        return [keyed_hash(COLUMN, _bytes(part)) for part in parts]

    @staticmethod
    def compress(left, right):
        return keyed_hash(NODE, _bytes([*left, *right]))
