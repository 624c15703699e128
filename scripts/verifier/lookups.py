"""Look-ups: the fractional sum of a chunk and its leaves
(docs/proof-format.md, "The order of messages"; docs/protocol.md, "Look-ups")."""

from dataclasses import dataclass

from . import soundness
from .circuit import Multiplicity
from .errors import require
from .field import ONE, P, ZERO, lift
from .forms import add, horner, mul, scale, sub, total
from .graph import table_rows
from .layout import Part, aligned, part_point, parts_of
from .multilinear import eq, eq_index, index_value, last, shape_variables, split, variables, weighted_prefix
from .schema import FUNC, LOOKUP

MOST_FRACTIONS = 1 << 30


@dataclass
class Block:
    """Some fractions of a look-up step, or those of a table, in the tree."""
    owner: object  # Step or Multiplicity
    part: Part
    position: int = 0  # in units of its size


class Tree:
    """The fractions of a chunk's look-ups: blocks by decreasing size."""

    def __init__(self, circuit, chunk):
        self.steps = [step for step in circuit.steps[chunk] if step.kind == LOOKUP]
        self.counts = circuit.multiplicities[chunk]
        self.of_step = [[Block(step, part) for part in parts_of(step.shape)] for step in self.steps]
        self.of_table = [Block(m, Part((0,), (circuit.tables[m.table].bits,))) for m in self.counts]
        self.blocks = [block for blocks in self.of_step for block in blocks] + self.of_table
        end = 0
        for block in sorted(self.blocks, key=lambda block: -block.part.variables):
            block.position = end >> block.part.variables
            end += 1 << block.part.variables
        self.fractions = end
        self.depth = variables(end) if end else 0
        require(end <= MOST_FRACTIONS, f"chunk {chunk} has too many look-ups and table rows")

    @property
    def split(self):
        """The steps in several blocks, with these."""
        return [(step, blocks) for step, blocks in zip(self.steps, self.of_step) if len(blocks) > 1]


def fractional_sum(fork, depth):
    """GKR for a tree of 2^depth fractions that add up to 0. Returns the point
    of the leaves, and their numerators' and denominators' values there."""
    stream, transcript = fork.stream, fork.transcript
    if depth == 0:
        n, d = stream.element(), stream.element()
        stream.equal(n, ZERO, f"{fork.name}: the look-ups do not add up")
        _not_zero(fork, d)
        return (), n, d
    n0, n1, d0, d1 = stream.elements(4)
    numerator, denominator = add(mul(n0, d1), mul(n1, d0)), mul(d0, d1)
    stream.equal(numerator, ZERO, f"{fork.name}: the look-ups do not add up")
    if fork.tape is not None:
        sent = stream.element()
        stream.equal(sent, denominator, f"{fork.name}: the look-ups' denominator")
        denominator = sent
    _not_zero(fork, denominator)
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
        stream.equal(add(crossed, mul(lam, mul(d0, d1))), claim, f"{fork.name}: layer {layer} of the look-ups fails")
        mu = transcript.challenge(f"mu of layer {layer}")
        point = (mu, *reached)
        n, d = _between(n0, n1, mu), _between(d0, d1, mu)
    return point, n, d


def _not_zero(fork, d):
    """A denominator; its inverse is sent where it is not known."""
    if fork.tape is None:
        require(d != ZERO, f"{fork.name}: the look-ups do not add up")
    else:
        fork.stream.equal(mul(d, fork.stream.element()), ONE, f"{fork.name}: the look-ups' denominator")


def _between(a, b, r):
    return add(a, mul(r, sub(b, a)))


def check(fork, tree, grind):
    """All look-ups of a chunk."""
    transcript = fork.transcript
    transcript.check_work(grind, fork.stream, "work before the look-ups")
    fork.rounds.error(f"{fork.name}: look-ups", soundness.lookups(tree.fractions), grind)
    alpha, beta = transcript.challenge("alpha"), transcript.challenge("beta")
    fork.rounds.error(f"{fork.name}: fractional sum", soundness.fractional_sum(tree.depth))
    point, num, den = fractional_sum(fork, tree.depth)
    _Leaves(fork, tree, alpha, beta, point).check(num, den)


class _Leaves:
    """What the tree's end says about columns."""

    def __init__(self, fork, tree, alpha, beta, point):
        self.fork = fork
        self.tree = tree
        self.alpha = alpha
        self.beta = beta
        self.beta2 = mul(beta, beta)
        self.point = point
        self.tables = fork.circuit.tables

    def check(self, num, den):
        """num and den are the numerators' and denominators' values at the point."""
        places = [self._place(block) for block in self.tree.blocks]
        steps = len(places) - len(self.tree.counts)
        columns, counts = [], []
        for step, blocks in zip(self.tree.steps, self.tree.of_step):
            if len(blocks) == 1:
                at = last(self.point, blocks[0].part.variables)
                columns.append(mul(self._place(blocks[0]), self._step(step, at)))
        for place, block in zip(places[steps:], self.tree.of_table):
            count, column = self._table(block.owner, last(self.point, block.part.variables))
            counts.append(mul(place, count))
            columns.append(mul(place, column))
        self.fork.stream.equal(num, sub(total(places[:steps]), total(counts)), f"{self.fork.name}: the look-ups' numerators fail")
        heads = [mul(place, self._head(block.owner)) for place, block in zip(places, self.tree.blocks)]
        # Fractions beyond the last block are 0/1.
        rest = sub(ONE, total(places))
        reached = sub(add(total(heads), rest), total(columns))
        if self.tree.split:
            self._check_split(sub(reached, den))
        else:
            self.fork.stream.equal(den, reached, f"{self.fork.name}: the look-ups' denominators fail")

    def _place(self, block):
        return eq_index(self.point[:len(self.point) - block.part.variables], block.position)

    def _head(self, owner):
        """α − β²·tag"""
        table = owner.table if isinstance(owner, Multiplicity) else owner.table - 1
        return sub(self.alpha, scale(self.beta2, table + 1))

    def _step(self, step, point):
        """key + β·out at a point."""
        fork = self.fork
        key = fork.accumulator(step.accumulator, step.shape, point)
        if step.remainder:
            key = sub(key, fork.evaluate(step.remainder - 1, point))
        key = scale(key, pow(1 << step.shift, -1, P))
        return add(key, mul(self.beta, fork.evaluate(step.out - 1, point))) if step.out else key

    def _table(self, multiplicity, point):
        """The count and key + β·value at a point."""
        table = self.tables[multiplicity.table]
        count = self.fork.evaluate(multiplicity.tensor, point)
        if table.kind == FUNC:
            value = self.fork.evaluate(table.values - 1, point)
        else:
            value = table_value(table, point)
        if table.saturated:
            rows = [block for first, end in table_rows(table) for block in aligned(first, end)]
            self.fork.saturated[multiplicity.table] = self.fork.count(multiplicity.tensor, rows)
        key = add(lift(table.min), index_value(point))
        return count, add(key, mul(self.beta, value))

    def _check_split(self, claim):
        """The sum over the steps in several blocks: its claim is Σ E·(key + β·out)."""
        stream, transcript = self.fork.stream, self.fork.transcript
        most = max(shape_variables(step.shape) for step, _ in self.tree.split)
        reached = []
        for j in range(most):
            q0, q2 = stream.element(), stream.element()
            q1 = sub(claim, total((q0, q0, q2)))
            self.fork.rounds.error(f"{self.fork.name}: steps in several blocks", soundness.QUADRATIC)
            reached.append(transcript.challenge(f"steps in several blocks, variable {j}"))
            claim = horner((q0, q1, q2), reached[-1])
        terms = []
        for step, blocks in self.tree.split:
            count = shape_variables(step.shape)
            column = self._step(step, last(tuple(reached), count))
            for r in reached[:most - count]:
                column = mul(column, sub(ONE, r))
            axes = split(last(tuple(reached), count), step.shape)
            terms.append(mul(column, total(self._entries(block, axes) for block in blocks)))
        self.fork.stream.equal(total(terms), claim, f"{self.fork.name}: the sum over look-ups in several blocks fails")

    def _entries(self, block, axes):
        """What a block adds to E, the weights of a step's entries."""
        weight, low = part_point(block.part, axes)
        return mul(mul(self._place(block), weight), eq(low, last(self.point, block.part.variables)))


def table_value(table, point):
    """The value column of a range or piecewise-linear table. That of a high-bits one does not
    depend on the last variables, those of the bits that it drops."""
    point = point[:len(point) - table.drop]
    value, start = ZERO, (ZERO, ZERO)
    for piece in table.pieces:
        end = weighted_prefix(point, piece.end)
        ones, indexes = sub(end[0], start[0]), sub(end[1], start[1])
        keys = add(indexes, scale(ones, table.min))
        value = total((value, scale(keys, piece.slope), scale(ones, piece.offset)))
        start = end
    return value
