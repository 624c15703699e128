"""Stacks and trees (docs/proof-format.md, "Layout")."""

from dataclasses import dataclass, field

from .field import ONE, mul, total
from .multilinear import eq, eq_index, split, variables
from .schema import FIXED, WITNESS

FIXED_TREE = "fixed"


@dataclass
class Part:
    """A block of a tensor: the entries from start to start + 2^bits on every axis."""
    starts: tuple
    bits: tuple
    offset: int = 0  # in its stack

    @property
    def variables(self):
        return sum(self.bits)


@dataclass
class Tree:
    """A committed stack."""
    name: str
    tensors: list  # identifiers
    row_variables: int
    root: tuple = None  # a digest
    first_row: int = 0
    parts: dict = field(default_factory=dict)  # tensor: parts
    entries: int = 0

    @property
    def rows(self):
        return -(-self.entries >> self.row_variables)

    @property
    def row_bits(self):
        return variables(self.rows)


def _axis_parts(dimension):
    """An axis cut by the binary expansion of its dimension: (start, bits)."""
    start, parts = 0, []
    for bit in reversed(range(dimension.bit_length())):
        if dimension >> bit & 1:
            parts.append((start, bit))
            start += 1 << bit
    return parts


def tensor_parts_number(shape):
    """How many blocks a tensor falls into."""
    number = 1
    for dimension in shape:
        number *= bin(dimension).count("1")
    return number


def tensor_parts(shape):
    """The blocks of a tensor, the last axis fastest."""
    parts = [Part((), ())]
    for dimension in shape:
        parts = [Part((*p.starts, start), (*p.bits, bits)) for p in parts for start, bits in _axis_parts(dimension)]
    return parts


def stack(name, graph, tensors, row_variables):
    """The stack of these tensors: blocks by decreasing size."""
    tree = Tree(name, tensors, row_variables)
    tree.parts = {t: tensor_parts(graph.tensors[t].shape) for t in tensors}
    for part in sorted((p for t in tensors for p in tree.parts[t]), key=lambda p: -p.variables):
        part.offset = tree.entries
        tree.entries += 1 << part.variables
    return tree


def trees(graph, row_variables):
    """All trees in their order, with their first rows; and the number of row variables."""
    fixed, witness = [], [[] for _ in range(graph.chunks)]
    for i, tensor in enumerate(graph.tensors):
        if tensor.kind == FIXED:
            fixed.append(i)
        elif tensor.kind == WITNESS:
            witness[tensor.chunk].append(i)
    names = [FIXED_TREE] + [f"witness of chunk {c}" for c in range(graph.chunks)]
    found = [stack(name, graph, tensors, row_variables) for name, tensors in zip(names, [fixed] + witness) if tensors]
    found.sort(key=lambda tree: -tree.row_bits)
    end = 0
    for tree in found:
        tree.first_row = end
        end += 1 << tree.row_bits
    return found, variables(end) if end else 0


class Weights:
    """Q: the sum of the claims' weights on the stacks of all trees."""

    def __init__(self, graph, trees, joined):
        """joined are pairs of a coefficient and a claim."""
        self.graph = graph
        self.joined = joined
        self.tree = {t: tree for tree in trees for t in tree.tensors}

    def at(self, point):
        """Its extension at a point of all trees' variables."""
        terms = []
        for coefficient, claim in self.joined:
            axes = split(claim.point, self.graph.tensors[claim.tensor].shape)
            tree = self.tree[claim.tensor]
            parts = [self._part(tree, part, axes, point) for part in tree.parts[claim.tensor]]
            terms.append(mul(coefficient, total(parts)))
        return total(terms)

    def _part(self, tree, part, axes, point):
        """eq of the claim's point and the block's place in the tensor, times eq
        of the point and the same place in the stack."""
        weight, low = ONE, ()
        for axis, start, bits in zip(axes, part.starts, part.bits):
            cut = len(axis) - bits
            weight = mul(weight, eq_index(axis[:cut], start >> bits))
            low += axis[cut:]
        cut = len(point) - len(low)
        offset = (tree.first_row << tree.row_variables) + part.offset
        return mul(mul(weight, eq_index(point[:cut], offset >> len(low))), eq(low, point[cut:]))
