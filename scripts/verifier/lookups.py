"""Look-ups: the fractional sum of a chunk and its leaves
(docs/proof-format.md, "The order of messages"; docs/protocol.md, "Look-ups")."""

from dataclasses import dataclass

from . import soundness
from .errors import require
from .field import ONE, P, ZERO, add, lift, mul, neg, scale, sub, total
from .multilinear import eq_index, index_value, last, mask, shape_variables, split, variables, weighted_prefix
from .schema import FUNC, LOOKUP


@dataclass
class Block:
    """Where the fractions of a look-up step, or of a table, lie in the tree."""
    step: object  # or None
    multiplicity: object  # or None
    variables: int
    position: int = 0  # in units of its size


@dataclass
class Tree:
    """The fractions of a chunk's look-ups."""
    blocks: list  # in the order of the tree

    def __post_init__(self):
        self.blocks.sort(key=lambda block: -block.variables)
        end = 0
        for block in self.blocks:
            block.position = end >> block.variables
            end += 1 << block.variables
        self.fractions = end  # padding per axis included
        self.depth = variables(end) if end else 0


def trees(graph):
    """The tree of every chunk."""
    blocks = [[] for _ in range(graph.chunks)]
    for s in graph.steps:
        if s.kind == LOOKUP:
            blocks[s.chunk].append(Block(s, None, shape_variables(s.shape)))
    for m in graph.multiplicities:
        blocks[m.chunk].append(Block(None, m, graph.tables[m.table].bits))
    return [Tree(found) for found in blocks]


def fractional_sum(fork, depth):
    """GKR for a tree of 2^depth fractions that add up to 0. Returns the point
    of the leaves, and their numerators' and denominators' values there."""
    stream, transcript = fork.stream, fork.transcript
    if depth == 0:
        n, d = stream.element(), stream.element()
        require(n == ZERO and d != ZERO, f"{fork.name}: the look-ups do not add up")
        return (), n, d
    n0, n1, d0, d1 = stream.elements(4)
    require(add(mul(n0, d1), mul(n1, d0)) == ZERO and mul(d0, d1) != ZERO,
            f"{fork.name}: the look-ups do not add up")
    point = (transcript.challenge("mu of layer 1"),)
    n, d = _between(n0, n1, point[0]), _between(d0, d1, point[0])
    for layer in range(2, depth + 1):
        lam = transcript.challenge(f"lambda of layer {layer}")
        claim, reached = add(n, mul(lam, d)), []
        for j, r in enumerate(point):
            q1, q2 = stream.element(), stream.element()
            q0 = sub(claim, mul(r, add(q1, q2)))
            x = transcript.challenge(f"layer {layer}, variable {j}")
            claim = add(q0, mul(x, add(q1, mul(x, q2))))
            reached.append(x)
        n0, n1, d0, d1 = stream.elements(4)
        crossed = add(mul(n0, d1), mul(n1, d0))
        require(add(crossed, mul(lam, mul(d0, d1))) == claim, f"{fork.name}: layer {layer} of the look-ups fails")
        mu = transcript.challenge(f"mu of layer {layer}")
        point = (mu, *reached)
        n, d = _between(n0, n1, mu), _between(d0, d1, mu)
    return point, n, d


def _between(a, b, r):
    return add(a, mul(r, sub(b, a)))


def check(fork, tree, grind):
    """All look-ups of a chunk."""
    transcript, depth = fork.transcript, tree.depth
    transcript.check_work(grind, fork.stream, "work before the look-ups")
    fork.rounds.error(f"{fork.name}: look-ups", soundness.lookups(tree.fractions), grind)
    alpha, beta = transcript.challenge("alpha"), transcript.challenge("beta")
    fork.rounds.error(f"{fork.name}: fractional sum", soundness.fractional_sum(depth))
    point, num, den = fractional_sum(fork, depth)
    row = _Row(fork, alpha, beta)
    nums, dens, used = [], [], []
    for block in tree.blocks:
        place = eq_index(point[:depth - block.variables], block.position)
        n, d = row.of(block, last(point, block.variables))
        nums.append(mul(place, n))
        dens.append(mul(place, d))
        used.append(place)
    # The fractions beyond the last block are 0/1.
    dens.append(sub(ONE, total(used)))
    require(total(nums) == num and total(dens) == den, f"{fork.name}: the leaves of the look-ups fail")


class _Row:
    """Numerator and denominator of a block at a point."""

    def __init__(self, fork, alpha, beta):
        self.fork = fork
        self.alpha = alpha
        self.beta = beta
        self.beta2 = mul(beta, beta)

    def of(self, block, point):
        return self._step(block.step, point) if block.step else self._table(block.multiplicity, point)

    def _denominator(self, table, key, value):
        tag = scale(self.beta2, table + 1)
        return sub(self.alpha, total((key, mul(self.beta, value), tag)))

    def _step(self, step, point):
        fork = self.fork
        key = fork.accumulator(step.accumulator, step.shape, point)
        if step.remainder:
            key = sub(key, fork.evaluate(step.remainder - 1, point))
        key = scale(key, pow(1 << step.shift, -1, P))
        out = fork.evaluate(step.out - 1, point) if step.out else ZERO
        return mask(split(point, step.shape), step.shape), self._denominator(step.table - 1, key, out)

    def _table(self, multiplicity, point):
        table = self.fork.graph.tables[multiplicity.table]
        count = self.fork.evaluate(multiplicity.tensor, point)
        if table.kind == FUNC:
            value = self.fork.evaluate(table.values - 1, point)
        else:
            value = table_value(table, point)
        key = add(lift(table.min), index_value(point))
        return neg(count), self._denominator(multiplicity.table, key, value)


def table_value(table, point):
    """The value column of a range or piecewise-linear table."""
    value, start = ZERO, (ZERO, ZERO)
    for piece in table.pieces:
        end = weighted_prefix(point, piece.end)
        ones, indexes = sub(end[0], start[0]), sub(end[1], start[1])
        keys = add(indexes, scale(ones, table.min))
        value = total((value, scale(keys, piece.slope), scale(ones, piece.offset)))
        start = end
    return value
