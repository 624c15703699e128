"""Stacks, trees and the table of an opening (docs/proof-format.md, "Trees")."""

from dataclasses import dataclass, field

from .errors import require
from .field import ONE, P, lift, mul, scale, sub, total
from .multilinear import eq, eq_index, eq_table, split, variables
from .schema import FIXED

MOST_ROWS = 1 << 16
MASKS = 8  # table rows
PIECE = 10  # log2 of elements whose weights are found by one table
HALF = lift((P + 1) // 2)
UNITS = tuple(tuple(int(i == j) for i in range(4)) for j in range(4))  # 1, i, u, iu


@dataclass
class Part:
    """A block of an index space: the entries from start to start + 2^bits on every axis."""
    starts: tuple
    bits: tuple
    offset: int = 0  # in its stack

    @property
    def variables(self):
        return sum(self.bits)


@dataclass
class Stack:
    """The blocks of some tensors by decreasing size, cut into rows."""
    parts: dict  # tensor: parts
    values: int
    first_slot: int = 0

    def rows(self, row_vars):
        return -(-self.values >> row_vars)


@dataclass
class Tree:
    """A committed tree: stacks in rows of 2^row_vars values."""
    name: str
    row_vars: int
    stacks: list
    fixed: bool = False  # of fixed tensors
    groups: list = field(default_factory=list)  # (first slot, number of rows) of each
    root: tuple = None  # a digest
    shift: int = 0  # s: 2^s rows make a table row
    first_row: int = 0  # in the table
    tails: list = field(default_factory=list)  # the length of the tails of each group, if there are any
    auxiliary: int = 0  # rows of the auxiliary row, the last group
    stacked: int = 0  # groups of stacks, if there are masks behind them

    @property
    def slots(self):
        first, count = self.table_groups[-1]
        return first + count

    @property
    def table_groups(self):
        """Those that are in the table."""
        return self.groups[:-1] if self.auxiliary else self.groups

    @property
    def depth(self):
        return self.row_vars + 2


def _axis_parts(dimension):
    """An axis cut by the binary expansion of its dimension: (start, bits)."""
    start, parts = 0, []
    for bit in reversed(range(dimension.bit_length())):
        if dimension >> bit & 1:
            parts.append((start, bit))
            start += 1 << bit
    return parts


def parts_number(shape):
    """How many blocks an index space falls into."""
    number = 1
    for dimension in shape:
        number *= bin(dimension).count("1")
    return number


def parts_of(shape):
    """The blocks of an index space, those of the last axis fastest."""
    parts = [Part((), ())]
    for dimension in shape:
        parts = [Part((*p.starts, start), (*p.bits, bits)) for p in parts for start, bits in _axis_parts(dimension)]
    return parts


def stack_of(circuit, tensors):
    parts = {t: parts_of(circuit.tensors[t].shape) for t in tensors}
    end = 0
    for part in sorted((p for t in tensors for p in parts[t]), key=lambda p: -p.variables):
        part.offset = end
        end += 1 << part.variables
    return Stack(parts, end)


def fixed_stacks(graph):
    """The fixed tensors under each tree of theirs, in the order of its stack: those of the base, then the others."""
    base = set(graph.base)
    rest = [i for i, t in enumerate(graph.tensors) if t.kind == FIXED and i not in base]
    return [tensors for tensors in (graph.base, rest) if tensors]


class Rows:
    """The rows of some trees, one after the other."""

    def __init__(self):
        self.trees = []
        self.row_vars = 0  # log2 of the length of a row
        self.size = 0  # in rows

    @property
    def variables(self):
        """Of the number of a row."""
        return variables(self.size) if self.size else 0


class Table(Rows):
    """The table of an opening, made of the rows of all trees."""

    def __init__(self, circuit, suite, key_row_vars, header, pads=None):
        super().__init__()
        row_vars = header.row_vars
        for i, (tensors, length) in enumerate(zip(fixed_stacks(circuit.graph), key_row_vars, strict=True)):
            self.trees.append(Tree(f"fixed {i}", length, [stack_of(circuit, tensors)], fixed=True))
        for i, (tensors, named) in enumerate(zip(circuit.graph.apart, header.trees, strict=True)):
            require(0 < named.row_vars <= 27, "the length of the rows of a tree of the header")
            tree = Tree(f"apart {i}", named.row_vars, [stack_of(circuit, tensors)])
            require(named.log_blowup == 2 and named.rows == tree.stacks[0].rows(named.row_vars), "a tree of the header has another number of rows")
            self.trees.append(tree)
        stacks = [stack_of(circuit, tensors) for tensors in circuit.witness if tensors]
        if pads is not None:
            stacks.append(Stack({}, pads.values))
        require(stacks or row_vars == 0, "the length of the witness's rows")
        if stacks:
            self.trees.append(Tree("witness", row_vars, stacks))
        self.row_vars = max((tree.row_vars for tree in self.trees), default=0)
        for tree in self.trees:
            tree.shift = self.row_vars - tree.row_vars
            tree.first_row = self.size
            place(tree, suite.WITNESS_GROUP if tree.name == "witness" else suite.GROUP, pads is not None)
            self.size += -(-tree.slots >> tree.shift)

    def add_tails(self, queries, tail_log, key_tail_log, input_tail_logs):
        """Sets the lengths of tails, of a 2^tail_log-th of the witness's rows at most."""
        require(key_tail_log == 0 or tail_log <= key_tail_log, "the tails of a proof are shorter than those of its key")
        require(all(tail_log <= log for log in input_tail_logs), "the tails of a proof are shorter than those of an input")
        of_inputs = {f"apart {i}": log for i, log in enumerate(input_tail_logs)}
        for tree in self.trees:
            log = tail_log if tree.name == "witness" else of_inputs.get(tree.name, key_tail_log)
            if log == 0:
                continue
            longest = 1 << max(0, tree.row_vars - log)
            require(queries <= longest, "rows are too short to hide them at so many positions")
            tree.tails = [longest] * len(tree.groups)
            if tree.name == "witness":
                tree.tails[:tree.stacked] = [queries] * tree.stacked


def place(tree, most, masked=False):
    """The slots and groups of a tree's stacks, groups of so many rows at most."""
    end = 0
    for stack in tree.stacks:
        rows = stack.rows(tree.row_vars)
        stack.first_slot = end = -(-end >> tree.shift) << tree.shift
        tree.groups += [(end + r, min(most, rows - r)) for r in range(0, rows, most)]
        end += rows
    if masked and tree.name == "witness":
        tree.stacked, tree.auxiliary = len(tree.groups), 1 << tree.shift
        require(tree.auxiliary <= most, "the witness's rows are too short for the auxiliary row")
        rows = MASKS << tree.shift
        first = -(-(tree.first_row + -(-end >> tree.shift)) // MASKS) * MASKS - tree.first_row << tree.shift
        tree.groups += [(first + r, min(most, rows - r)) for r in range(0, rows, most)]
        tree.groups.append((0, tree.auxiliary))
    require(sum(count for _, count in tree.groups) <= MOST_ROWS, f"the {tree.name} tree has too many rows")


def aligned(first, end):
    """An interval in the fewest blocks of 2^bits that begin at multiples of their size: (first, bits)."""
    blocks = []
    while first < end:
        bits = (end - first).bit_length() - 1
        if first:
            bits = min(bits, (first & -first).bit_length() - 1)
        blocks.append((first, bits))
        first += 1 << bits
    return blocks


def unused_ends(tree):
    """The blocks behind the last values of the witness's stacks: (first value
    in the tree's slots, variables)."""
    found = []
    for stack in tree.stacks:
        blocks = aligned(stack.values, stack.rows(tree.row_vars) << tree.row_vars)
        found += [((stack.first_slot << tree.row_vars) + at, bits) for at, bits in blocks]
    return found


class Weights:
    """Q: the sum of the weights that claims and unused ends give to the table."""

    def __init__(self, circuit, table):
        self.circuit = circuit
        self.table = table
        self.home = {t: (tree, stack) for tree in table.trees for stack in tree.stacks for t in stack.parts}
        self.claims = []
        self.ends = []
        self.pads = []

    def add_claim(self, coefficient, claim):
        self.claims.append((coefficient, claim))

    def add_pads(self, weights):
        """The weights of the elements of the stack of pads, the last of the witness's."""
        self.pads = weights

    def add_end(self, coefficient, tree, start, point):
        self.ends.append((coefficient, tree, start, point))

    def at(self, point):
        """Its extension at a point of the table's variables."""
        places = {tree.name: _Places(tree, self.table, point) for tree in self.table.trees}
        terms = [mul(c, places[tree.name].block(start, p)) for c, tree, start, p in self.ends]
        if self.pads:
            tree = self.table.trees[-1]
            start = tree.stacks[-1].first_slot << tree.row_vars
            terms.append(places[tree.name].elements(start, self.pads))
        for coefficient, claim in self.claims:
            tree, stack = self.home[claim.tensor]
            if claim.rows:
                terms.append(mul(coefficient, places[tree.name].rows_sum(tree, stack, claim)))
                continue
            axes = split(claim.point, self.circuit.tensors[claim.tensor].shape)
            parts = []
            for part in stack.parts[claim.tensor]:
                weight, low = part_point(part, axes)
                start = (stack.first_slot << tree.row_vars) + part.offset
                parts.append(mul(weight, places[tree.name].block(start, low)))
            terms.append(mul(coefficient, total(parts)))
        return total(terms)


def part_point(part, axes):
    """eq of a point, by axis, and a block's place; the point inside the block."""
    weight, low = ONE, ()
    for axis, start, bits in zip(axes, part.starts, part.bits):
        cut = len(axis) - bits
        weight = mul(weight, eq_index(axis[:cut], start >> bits))
        low += axis[cut:]
    return weight, low


class _Places:
    """The values of a tree's slots at a point of the table."""

    def __init__(self, tree, table, point):
        cut = table.variables
        inner = point[cut:]
        self.bits = table.row_vars
        self.first_row = tree.first_row
        self.rows = eq_table(point[:cut], table.size)
        self.point = (inner[len(inner) - tree.shift:][::-1] + inner[:tree.row_vars])

    def rows_sum(self, tree, stack, claim):
        """The weight of a sum of rows: 2^bits times that of halves, block by block."""
        start = (stack.first_slot << tree.row_vars) + stack.parts[claim.tensor][0].offset
        return total(scale(self.block(start + first, (HALF,) * bits), 1 << bits) for first, bits in claim.rows)

    def elements(self, start, weights):
        """Σ of the weights of elements of K, on their four limbs u·(1, i, u, iu)."""
        a, b = self.point[self.bits - 2:]
        limbs = total(mul(unit, mul(x, y)) for unit, (x, y) in zip(UNITS, ((sub(ONE, a), sub(ONE, b)), (sub(ONE, a), b),
                                                                       (a, sub(ONE, b)), (a, b))))
        bits = self.bits - 2  # of the number of an element in a row of the table
        low = min(bits, PIECE)
        table, pieces = eq_table(self.point[bits - low:bits], 1 << low), {}
        for at, weight in enumerate(weights, start >> 2):
            pieces.setdefault(at >> low, []).append(mul(weight, table[at & (1 << low) - 1]))
        terms = []
        for piece, values in pieces.items():
            row, place = divmod(piece, 1 << bits - low)
            terms.append(mul(total(values), mul(self.rows[self.first_row + row], eq_index(self.point[:bits - low], place))))
        return mul(limbs, total(terms))

    def block(self, start, p):
        """The weight of a block of 2^len(p) values from this value of the slots on."""
        row = self.first_row + (start >> self.bits)
        cut = self.bits - len(p)
        if cut >= 0:
            place = eq_index(self.point[:cut], (start & (1 << self.bits) - 1) >> len(p))
            return mul(mul(self.rows[row], place), eq(self.point[cut:], p))
        high = eq_table(p[:-cut], 1 << -cut)
        return mul(total(mul(h, r) for h, r in zip(high, self.rows[row:])), eq(self.point, p[-cut:]))
