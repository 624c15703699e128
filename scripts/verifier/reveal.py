"""Greatest entries stated in place of an output (docs/proof-format.md, "What is stated of an output")."""

import copy
from itertools import product as places

from .errors import require
from .field import P, ZERO, add, mul, scale, sub
from .multilinear import eq_index, prefix, size, split
from .schema import (AFFINE, EMPTY, FINITE, FORMULA, INPUT, LOOKUP, PIECEWISE, PUBLIC, RANGE, RESHAPE, VIRTUAL, WITNESS, Accumulator,
                     Group, Linear, Step, Table, Tensor, View)

MOST_TOP = 1 << 10
MOST_FLAT = 1 << 28
LOW_BITS = 15
MOST_TABLE_BITS = 20
MOST_DEPTH = 16
BOUND = 1 << 30


class Revealed:
    """What a circuit has for one output: the place in its outputs, how many indexes a row has, and the tensors of these and of
    what follows from them."""

    def __init__(self, output, axis, top):
        self.output, self.axis, self.top = output, axis, top
        self.place = output  # among the outputs of the circuit, of which some may be hidden
        self.row = 1 << (axis - 1).bit_length()
        self.falls = None

    @property
    def count(self):
        """The inputs that the circuit has for it."""
        return 3 + (self.falls is not None)

    def entries(self, at):
        """The entries of tensors that follow from the indexes; those of marks are not made."""
        found = {self.at: at, self.ids: [i // self.top * self.row + x for i, x in enumerate(at)]}
        rows = [at[i:i + self.top] for i in range(0, len(at), self.top)]
        if self.falls is not None:
            found[self.falls] = [int(b < a) for row in rows for a, b in zip(row, row[1:])]
        return found

    def check(self, at):
        for i in range(0, len(at), self.top):
            require(len(set(at[i:i + self.top])) == self.top, "an index is stated twice of one row")

    def marks_value(self, shape, at, point):
        """The extension of marks: -1 before the last index of a row, and the lift at the others."""
        *lead, place = split(point, shape)
        total = ZERO
        for i, row in enumerate(places(*(range(d) for d in shape[:-1]))):
            value = ZERO
            own = at[i * self.top:(i + 1) * self.top]
            for x in own[:-1]:
                value = add(value, eq_index(place, x))
            value = sub(scale(value, self.lift), prefix(place, own[-1]))
            for part, index in zip(lead, row):
                value = mul(value, eq_index(part, index))
            total = add(total, value)
        return total


def derive(graph, reveals):
    """The circuit with what shows that stated entries are the greatest, and what it has for each."""
    if not reveals:
        return graph, []
    graph = copy.copy(graph)
    graph.tensors, graph.tables, graph.steps = list(graph.tensors), list(graph.tables), list(graph.steps)
    graph.inputs, graph.outputs = list(graph.inputs), list(graph.outputs)
    made, last, ranges = [], -1, Ranges(graph)
    for reveal in reveals:
        require(last < reveal.output < len(graph.outputs), "what is revealed: an output that there is not, or not in order")
        require((reveal.top > 0) == (reveal.kind > 0) and reveal.top <= MOST_TOP, "what is revealed: another number of indexes")
        last = reveal.output
        made.append(_one(graph, reveal, ranges))
    return graph, made


def _one(graph, reveal, ranges):
    source = graph.outputs[reveal.output]
    t = graph.tensors[source]
    require(t.kind != EMPTY and t.shape, "what is revealed: an output without an axis")
    require(t.numbers == FINITE and not t.fracs, "what is revealed: an output whose integers are not on one scale, or not finite")
    *lead, axis = t.shape
    require(reveal.top <= axis, "what is revealed: more indexes than entries")
    r = Revealed(reveal.output, axis, max(reveal.top, 1))
    require(size(lead) * r.row <= MOST_FLAT, "what is revealed: too many rows")
    reached = ranges.of(source, 0)
    least, most = reached or (t.min, t.max)
    r.of, r.range, r.proved = t, (least, most), reached is not None
    width = most - least
    bits = (width + 1 if reveal.top > 1 else width).bit_length()
    table, shift = range_of(graph, bits)
    require((1 << graph.tables[table].bits + shift) + width + 1 <= P, "what is revealed: an output of too wide a range")
    r.lift = width + 1

    def given(shape, low, high):
        graph.inputs.append(_add(graph, Tensor(shape=shape, kind=INPUT, min=low, max=high)))
        return graph.inputs[-1]

    shape = lead + [reveal.top] if reveal.top else lead or [1]
    r.at = given(shape, 0, axis - 1)
    graph.tensors[r.at].name = (f"top {reveal.top}" if reveal.top else "argmax") + f" of {t.name}"
    r.ids = given(shape, 0, size(lead) * r.row - 1)
    r.marks = given(t.shape, -1, width + 1)

    def virtual(shape, of, groups):
        return _add(graph, Tensor(shape=shape, kind=VIRTUAL, min=min(t.min, 0), max=max(t.max, 0),
                                  definition=[Linear(1, of, View(groups))]))

    padded = lead + [r.row]
    filled = virtual(padded, source, _same(len(padded)))
    flat = virtual([size(padded)], filled, [Group([0], list(range(len(padded))), RESHAPE)])
    best = virtual(shape, flat, [Group(list(range(len(shape))), [0], PUBLIC, ids=r.ids)])
    end = Group([len(lead)], [], AFFINE, 0, [0])
    if len(shape) > len(lead):
        end.inn, end.base = [len(lead)], r.top - 1
    look_up(graph, t.shape, Accumulator(linear=[Linear(1, best, View(_same(len(lead)) + [end])), Linear(-1, source), Linear(1, r.marks)]),
            table, shift)
    if r.top > 1:
        pairs = lead + [r.top - 1]
        r.falls = given(pairs, 0, 1)
        first, second = _same(len(pairs)), _same(len(pairs))
        second[-1].base = 1
        look_up(graph, pairs, Accumulator(linear=[Linear(1, best, View(first)), Linear(-1, best, View(second)), Linear(-1, r.falls)]),
                table, shift)
    graph.outputs[reveal.output] = r.at
    return r


def _add(graph, tensor):
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def _same(axes):
    return [Group([a], [a], AFFINE, 0, [1]) for a in range(axes)]


def look_up(graph, shape, accumulator, table, shift):
    """Adds steps that look up that a sum is not negative."""
    low = _add(graph, Tensor(shape=shape, kind=WITNESS, max=(1 << shift) - 1)) if shift else -1
    graph.steps.append(Step(LOOKUP, "", shape, accumulator, shift, low + 1, table + 1))
    if shift:
        graph.steps.append(Step(LOOKUP, "", shape, Accumulator(linear=[Linear(1, low)]), table=_exactly(graph, shift) + 1))


def _smallest(graph, bits):
    found = [(t.bits, i) for i, t in enumerate(graph.tables) if t.kind == RANGE and t.min == 0 and t.bits >= bits]
    return min(found)[1] if found else None


def _new(graph, bits):
    graph.tables.append(Table(kind=RANGE, bits=max(bits, 1)))
    return len(graph.tables) - 1


def _exactly(graph, bits):
    found = _smallest(graph, bits)
    return found if found is not None and graph.tables[found].bits == bits else _new(graph, bits)


def range_of(graph, bits):
    """The table that numbers of so many bits are looked up in, and the bits below its keys."""
    whole = _smallest(graph, bits)
    if whole is not None:
        return whole, 0
    if bits <= LOW_BITS + 1:
        return _new(graph, bits), 0
    require(bits - LOW_BITS <= MOST_TABLE_BITS and bits <= 30, "what is looked up: too wide a range")
    high = _smallest(graph, bits - LOW_BITS)
    if high is not None and graph.tables[high].bits + LOW_BITS <= 30:
        return high, LOW_BITS
    return _new(graph, bits - LOW_BITS), LOW_BITS


class Ranges:
    """The intervals that look-ups, public values and formulas keep tensors to. Each sum is walked once for a depth."""

    def __init__(self, graph):
        self.graph, self.sums, self.lookups = graph, {}, {}
        for step in graph.steps:
            for result in (step.remainder, step.out):
                if step.kind == LOOKUP and result:
                    self.lookups.setdefault(result - 1, step)

    def of(self, identifier, depth):
        """The interval of a tensor's entries, None if nothing keeps them to one."""
        t = self.graph.tensors[identifier]
        if t.kind in (INPUT, FORMULA):
            return t.min, t.max
        if t.kind == VIRTUAL and not t.product and depth < MOST_DEPTH:
            if (identifier, depth) not in self.sums:
                self.sums[identifier, depth] = self._of_sum(t, depth)
            return self.sums[identifier, depth]
        step = self.lookups.get(identifier) if t.kind == WITNESS else None
        if step is None:
            return None
        if step.remainder == identifier + 1:
            return 0, (1 << step.shift) - 1
        table = self.graph.tables[step.table - 1]
        return _values(table) if table.kind == PIECEWISE else None

    def _of_sum(self, t, depth):
        least = most = 0
        for term in t.definition:
            found = None if term.view is not None and any(g.sums for g in term.view.groups) else self.of(term.source, depth + 1)
            if found is None:
                return None
            low, high = found
            if term.view is not None:
                low, high = min(low, term.view.fill), max(high, term.view.fill)
            ends = sorted((term.coefficient * low, term.coefficient * high))
            least, most = least + ends[0], most + ends[1]
            if least <= -BOUND or most >= BOUND:
                return None
        return least, most


def _values(table):
    values, first = [], 0
    for piece in table.pieces:
        values += [piece.slope * (table.min + row) + piece.offset for row in (first, piece.end - 1)]
        first = piece.end
    return min(values), max(values)
