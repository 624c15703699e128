"""Links of two keys that hide the same weights (docs/proof-format.md, "The link file")."""

import struct
from dataclasses import dataclass

from . import key, soundness
from .circuit import Circuit, with_sizes
from .errors import require
from .field import ONE, ZERO, mul, sub
from .layout import MASKS, Rows, Tree, Weights, fixed_stacks, place, stack_of
from .multilinear import last
from .protobuf import decode, prefix
from .schema import Link
from .soundness import Rounds
from .stream import Stream
from .suites import SUITES
from .whir import Opening

MAGIC = b"PM.lnk\r\n"
LABEL = b"prove-model link"
MOST_BYTES = 1 << 28
MOST_LEVELS = 64
BODY = 5  # the number of the field that has the stream


@dataclass
class Linked:
    """Two keys that a link has been accepted of."""
    first: key.VerifyingKey
    second: key.VerifyingKey
    rounds: Rounds


class LinkTable(Rows):
    """The table of a link's opening: the trees of two keys, and one of masks and the auxiliary row."""

    def __init__(self, circuit, suite, keys, levels):
        super().__init__()
        tensors, = fixed_stacks(circuit.graph)
        self.stack = stack_of(circuit, tensors)
        self.row_vars = max(k.row_vars[0] for k in keys)
        self.tail_log = min(k.tail_log for k in keys)
        for name, k in zip(("first", "second"), keys):
            require(k.row_vars[0] <= soundness.MOST_DOMAIN_BITS - soundness.LOG_BLOWUP, f"the length of the {name} key's rows")
            tree = Tree(f"{name} key's", k.row_vars[0], [self.stack], fixed=True, root=k.roots[0])
            self.add(tree, suite.GROUP)
            longest = 1 << max(0, tree.row_vars - k.tail_log)
            require(not levels or levels[0].queries <= longest, "rows are too short to hide them at so many positions")
            tree.tails = [longest] * len(tree.groups)
        self.size = -(-self.size // MASKS) * MASKS
        masks = Tree("masks", self.row_vars, [], first_row=self.size, groups=[(0, MASKS), (0, 1)], auxiliary=1)
        masks.tails = [1 << max(0, self.row_vars - self.tail_log)] * 2
        self.trees.append(masks)
        self.size += MASKS

    def add(self, tree, most):
        tree.shift, tree.first_row = self.row_vars - tree.row_vars, self.size
        place(tree, most)
        self.trees.append(tree)
        self.size += -(-tree.slots >> tree.shift)

    def blocks(self):
        """Those of the stack, in its order."""
        return sorted((p for parts in self.stack.parts.values() for p in parts), key=lambda p: p.offset)


def check(first_bytes, second_bytes, link_bytes, min_bits=100, trace=None):
    """What has been accepted: that both keys hide the same weights of the same circuit. Raises Invalid."""
    keys = [key.read(data) for data in (first_bytes, second_bytes)]
    link, head = read(link_bytes)
    require([link.first, link.second] == [k.commitment for k in keys], "it links other keys")
    require(link.levels, "a link without parameters")
    require(all(k.tail_log for k in keys), "a link is of two keys that hide weights")
    require(keys[0].commitment != keys[1].commitment, "a link is of two keys, and this is one")
    require(keys[0].beside == keys[1].beside, "the keys are of two circuits, or of one in two ways")
    return Linked(*keys, _verify(keys, link, head, min_bits, trace))


def read(data):
    """The message in a file of these bytes, and what of it is before the stream. Raises Invalid."""
    require(len(data) <= MOST_BYTES and data[:len(MAGIC)] == MAGIC, "this is not a link")
    body = data[len(MAGIC):]
    link = decode(Link, body, MOST_LEVELS + 1)
    require(link.version == key.VERSION, "the link has another version")
    require(len(link.first) == len(link.second) == 32, "the link's keys are not two digests")
    return link, prefix(body, BODY)


def _verify(keys, link, head, min_bits, trace):
    graph, security = keys[0].graph, keys[0].security
    suite = SUITES[security.hash]
    circuit = Circuit(with_sizes(graph, [1] * len(graph.free)), 0)
    table = LinkTable(circuit, suite, keys, link.levels)
    soundness.check_levels(link.levels, security, table, table.tail_log)
    main = suite.transcript("main", trace)
    main.absorb_bytes(LABEL)
    main.absorb_bytes(head)
    require(len(link.body) % 4 == 0, "the link's stream is not a number of words")
    stream = Stream(link.body, suite, main, "link", struct.unpack(f"<{len(link.body) // 4}I", link.body))
    table.trees[-1].root = stream.digest()
    blocks, rounds = table.blocks(), Rounds(security.target_bits)
    most = max(block.variables for block in blocks)
    rounds.error("differences of weights", most)
    point = tuple(main.challenges([f"tau {j}" for j in range(most)]))
    rounds.error("join of differences", len(blocks) - 1)
    zeta = main.challenge("zeta")
    weights, power = Weights(circuit, table), ONE
    for block in blocks:
        at = last(point, block.variables)
        weights.add_end(power, table.trees[0], block.offset, at)
        weights.add_end(sub(ZERO, power), table.trees[1], block.offset, at)
        power = mul(power, zeta)
    Opening(link.levels, table, stream, rounds, table.tail_log).check(ZERO, weights.at, security)
    stream.end()
    least = rounds.least()
    require(least >= min_bits << soundness.UNIT,
            f"{soundness.tenths(least) / 10} bits of security, less than the {min_bits} asked for")
    return rounds
