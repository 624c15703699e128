"""From the key's circuit to a proof's (docs/proof-format.md, "From the key's
circuit to a proof's")."""

import copy
from dataclasses import dataclass

from .errors import require
from .multilinear import size
from .schema import AFFINE, FIXED, INPUT, LOOKUP, PUBLIC, VIRTUAL, WITNESS, Tensor

MOST_FREE = 8
MOST_BOUND = 1 << 24
LARGEST = 1 << 34  # of a number that scales, in absolute value
MOST_CHUNKS = 1024
CANONICAL_CHUNKS = 64
CHUNK_SIZES = [1 << bits for bits in range(22, 28)]
LARGEST_COUNT = (1 << 30) - 1


@dataclass
class Multiplicity:
    """The tensor that counts how often look-ups of a chunk use rows of a table."""
    table: int
    tensor: int


class Circuit:
    """A circuit with its sizes, laid out in chunks."""

    def __init__(self, graph, chunk_entries):
        self.graph = graph
        self.tensors = list(graph.tensors)
        self.tables = graph.tables
        self.steps = [[]]  # by chunk
        self._deal(chunk_entries or _canonical(graph.steps))
        require(len(self.steps) <= MOST_CHUNKS, "there are too many chunks")
        self.witness = [[] for _ in self.steps]  # identifiers by chunk
        self.multiplicities = [[] for _ in self.steps]
        self._place()

    def _deal(self, most):
        entries = 0
        for step in self.graph.steps:
            more = witness_entries(step)
            if entries and entries + more > most:
                self.steps.append([])
                entries = 0
            self.steps[-1].append(step)
            entries += more

    def _place(self):
        chunk_of = {identifier: 0 for identifier in [*self.graph.hidden, *self.graph.imported]}
        apart = {identifier for tensors in self.graph.apart for identifier in tensors}
        for chunk, steps in enumerate(self.steps):
            for step in steps:
                chunk_of.update((identifier - 1, chunk) for identifier in (step.out, step.remainder) if identifier)
        for i, tensor in enumerate(self.tensors):
            if tensor.kind == WITNESS and i not in apart:
                self.witness[chunk_of[i]].append(i)
        for chunk, steps in enumerate(self.steps):
            for table in sorted({step.table - 1 for step in steps if step.kind == LOOKUP}):
                identifier = len(self.tensors)
                shape = [1 << self.tables[table].bits]
                self.tensors.append(Tensor("", shape, WITNESS, 0, 0, LARGEST_COUNT))
                self.witness[chunk].append(identifier)
                self.multiplicities[chunk].append(Multiplicity(table, identifier))


def witness_entries(step):
    """What a step commits to: remainder and output."""
    return size(step.shape) * (bool(step.remainder) + bool(step.out))


def _chunks(steps, most):
    chunks, entries = 1, 0
    for step in steps:
        more = witness_entries(step)
        if entries and entries + more > most:
            chunks, entries = chunks + 1, 0
        entries += more
    return chunks


def _canonical(steps):
    """The canonical size of a chunk."""
    for most in CHUNK_SIZES:
        if _chunks(steps, most) <= CANONICAL_CHUNKS:
            return most
    return CHUNK_SIZES[-1]


# Free dimensions

def check_free(graph):
    """The rules for a template's free dimensions and scales."""
    free = graph.free
    require(len(free) <= MOST_FREE, "too many free dimensions")
    require(len({f.name for f in free}) == len(free), "two free dimensions have one name")
    require(all(f.name for f in free), "a free dimension without a name")
    require(all(0 < f.bound <= MOST_BOUND for f in free), "a free dimension's bound")
    for t in graph.tensors:
        require(t.kind != FIXED or not t.scales, "a fixed tensor scales")
    for shaped in graph.tensors + graph.steps:
        if shaped.scales:
            require(len(shaped.scales) == len(shaped.shape) and any(shaped.scales), "scales are not one an axis")
    alone = {s for t in graph.tensors if t.kind == INPUT for s in t.scales}
    require(all(1 << f in alone for f in range(len(free))), "a free dimension is not the length of an input's axis")
    for group in _groups(graph):
        require(group.base or not group.base_scale, "a base of 0 scales")
    bounds = [f.bound for f in free]
    for number, scale in _scaled(graph):
        require(scale >> len(free) == 0, "a scale of no free dimension")
        require(abs(number) * factor(scale, bounds) <= LARGEST, "a number that scales is too large")


def _groups(graph):
    summands = [s for t in graph.tensors for s in t.definition]
    summands += [s for step in graph.steps if step.accumulator for s in step.accumulator.linear]
    return [g for s in summands if s.view for g in s.view.groups]


def _scaled(graph):
    """Every number with a scale, and that."""
    for shaped in graph.tensors + graph.steps:
        yield from ((number, scale) for number, scale in zip(shaped.shape, shaped.scales) if scale)
    for group in _groups(graph):
        numbers = [(group.base, group.base_scale)] + [(s.dimension, s.scale) for s in group.sums]
        yield from ((number, scale) for number, scale in numbers if scale)


def factor(scale, sizes):
    """What a number with a scale is multiplied with."""
    factor = 1
    for f, n in enumerate(sizes):
        factor *= n if scale >> f & 1 else 1
    return factor


def with_sizes(graph, sizes):
    """The circuit of a template for these sizes of its free dimensions."""
    require(len(sizes) == len(graph.free), "another number of free dimensions")
    require(all(0 < n <= f.bound for n, f in zip(sizes, graph.free)), "a free dimension is out of its bound")
    if not sizes:
        return graph
    graph = copy.deepcopy(graph)
    for shaped in graph.tensors + graph.steps:
        if shaped.scales:
            shaped.shape = [d * factor(scale, sizes) for d, scale in zip(shaped.shape, shaped.scales)]
            shaped.scales = []
    for group in _groups(graph):
        group.base, group.base_scale = group.base * factor(group.base_scale, sizes), 0
        for s in group.sums:
            s.dimension, s.scale = s.dimension * factor(s.scale, sizes), 0
    return graph


class Lengths:
    """How many indexes of the axes of a template's tensors have entries, at some sizes (docs/proof-format.md, "Views")."""

    def __init__(self, graph, circuit):
        self.graph = graph
        self.circuit = circuit
        self.known = {}

    def of(self, identifier, axis):
        """The length, and whether it depends on a size."""
        if (identifier, axis) not in self.known:
            self.known[identifier, axis] = self._of(identifier, axis)
        return self.known[identifier, axis]

    def _of(self, identifier, axis):
        tensor = self.graph.tensors[identifier]
        length = self.circuit.tensors[identifier].shape[axis]
        if tensor.scales and tensor.scales[axis]:
            return length, True
        if tensor.kind != VIRTUAL:
            return length, False
        longest, free = 0, False
        for term in tensor.definition:
            source = axis
            if term.view is not None:
                group = next(g for g in term.view.groups if axis in g.out)
                if not _follows(group):
                    return length, False
                source = group.inn[0]
            n, depends = self.of(term.source, source)
            longest, free = max(longest, n), free or depends
        return (min(length, longest), True) if free else (length, False)


def _follows(group):
    """Whether index o of the group's one output axis is index o of its one source axis."""
    return (group.map == AFFINE and len(group.out) == 1 and len(group.inn) == 1 and group.base == 0 and group.strides == [1]
            and not group.sums)


def check_ids(graph, circuit, public):
    """Public indexes, entries by tensor, must be those of entries that are there."""
    lengths, shortest = Lengths(graph, circuit), {}
    for term in summands(graph):
        for group in term.view.groups if term.view is not None else []:
            if group.map == PUBLIC:
                length, _ = lengths.of(term.source, group.inn[0])
                shortest[group.ids] = min(length, shortest.get(group.ids, length))
    for ids, length in shortest.items():
        require(all(at < length for at in public[ids]), f"an index of an axis of {length} is beyond it")


def summands(graph):
    """The terms of all virtual tensors and accumulators."""
    accumulators = [s.accumulator for s in graph.steps if s.accumulator]
    return [l for t in graph.tensors for l in t.definition] + [l for a in accumulators for l in a.linear]


def wired(graph):
    """The inputs whose entries are indexes of some view."""
    return {group.ids for term in summands(graph) if term.view is not None for group in term.view.groups if group.map == PUBLIC}
