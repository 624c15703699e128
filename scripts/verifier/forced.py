"""A key under which a prover could choose what it commits to is refused
(docs/proof-format.md, "The key file")."""

from .errors import require
from .field import P
from .schema import (AFFINE, DIVIDE, LOOKUP, MAXIMUM, PIECEWISE, VIRTUAL, WITNESS, Accumulator, Group, Linear, Piece,
                     Product, Sum, View)
from .schema import ZERO as ZERO_STEP

MOST_KEY_BITS = 30


def check(graph):
    """Raises Invalid unless every committed entry is forced."""
    made = _results(graph)
    _order(graph, made)
    ranges = _Ranges(graph)
    for i, step in enumerate(graph.steps):
        if step.kind == LOOKUP and step.remainder:
            width = ranges.of(step.remainder - 1)
            require(width is not None and width <= step.shift,
                    f"step {i}: nothing keeps its remainder within {step.shift} bits")
        elif step.kind == DIVIDE:
            _Division(graph, i, ranges).check()
        elif step.kind == MAXIMUM:
            _Maximum(graph, i).check()


def _results(graph):
    """The step that makes each witness tensor: exactly one."""
    made = {}
    for i, step in enumerate(graph.steps):
        for identifier in (step.out, step.remainder):
            if identifier:
                t = graph.tensors[identifier - 1]
                require(t.kind == WITNESS and t.shape == step.shape,
                        f"step {i}: a result is not a witness tensor of its shape")
                require(identifier - 1 not in made, f"tensor {identifier - 1} is the result of two steps")
                made[identifier - 1] = i
    for i, tensor in enumerate(graph.tensors):
        require(tensor.kind != WITNESS or i in made or i in graph.hidden or i in graph.imported, f"witness tensor {i} is the result of no step")
    return made


def _order(graph, made):
    """Steps read what earlier steps made."""
    ready = []  # after which step a tensor is determined
    for i, tensor in enumerate(graph.tensors):
        if tensor.product:
            ready.append(max(ready[tensor.product.a], ready[tensor.product.b]))
        elif tensor.kind == VIRTUAL:
            ready.append(max(ready[s.source] for s in tensor.definition))
        else:
            ready.append(made.get(i, -1))  # inputs, hidden ones too, what is imported, and fixed tensors before all steps
    for i, step in enumerate(graph.steps):
        acc = step.accumulator
        read = [s.source for s in acc.linear] + [t for p in acc.products for t in (p.a, p.b)]
        if step.divisor:
            read.append(step.divisor - 1)
        require(all(ready[t] < i for t in read), f"step {i} reads what is not made before it")


class _Ranges:
    """Tensors that are looked up by themselves: with coefficient 1 and no view."""

    def __init__(self, graph):
        self.tables = graph.tables
        self.widths = {}  # in a range from 0
        self.keys = {}  # in any table
        for step in graph.steps:
            if step.kind == LOOKUP and _alone(step.accumulator):
                source = step.accumulator.linear[0].source
                width = range_bits(self.tables, step)
                if width is not None and step.accumulator.constant == 0:
                    self._least(self.widths, source, width)
                    self._least(self.keys, source, width)
                if step.shift == 0:
                    self._least(self.keys, source, self.tables[step.table - 1].bits)

    @staticmethod
    def _least(found, source, bits):
        found[source] = min(bits, found.get(source, bits))

    def of(self, tensor):
        """Least b such that a tensor is in [0, 2^b), or None."""
        return self.widths.get(tensor)

    def key(self, tensor):
        """Least b such that a tensor is one of 2^b consecutive keys, or None."""
        return self.keys.get(tensor)


def _alone(acc):
    return len(acc.linear) == 1 and acc == Accumulator(acc.constant, [Linear(1, acc.linear[0].source)])


def range_bits(tables, step):
    """b if the step looks up keys in [0, 2^b), remainder included, or None."""
    table = tables[step.table - 1]
    return step.shift + table.bits if table.min == 0 and (step.shift == 0 or table.bits > 0) else None


class _Constrained:
    """A step with the ones after it that force its results."""

    name = None

    def __init__(self, graph, index):
        self.graph = graph
        self.index = index
        self.step = graph.steps[index]
        self.next = index + 1

    def _require(self, condition, what):
        require(condition, f"step {self.index}: {self.name} whose {what}")

    def _take(self, kind, shape=None):
        """The next step, which must be of this kind and index space."""
        steps, at = self.graph.steps, self.next
        self.next += 1
        self._require(at < len(steps) and steps[at].kind == kind and steps[at].shape == (shape or self.step.shape),
                      "constraints do not follow it")
        return steps[at]

    def _wide(self, acc, what):
        """The bits of a range in which the next step looks up a sum, or the next two."""
        step, bits = self._looked_up(acc, what)
        if step.remainder:
            low, width = self._looked_up(Accumulator(linear=[Linear(1, step.remainder - 1)]), what)
            self._require(not low.remainder and width <= step.shift, what)
        return bits

    def _looked_up(self, acc, what):
        """The next step, which looks a sum up in a range, and its bits."""
        step = self._take(LOOKUP)
        bits = range_bits(self.graph.tables, step)
        self._require(step.accumulator == acc and bits is not None, what)
        return step, bits


class _Maximum(_Constrained):
    """A maximum step and the look-ups after it that force the greatest entries."""

    name = "a maximum"

    def check(self):
        operand = self.step.divisor - 1
        shape = self.graph.tensors[operand].shape
        last = len(shape) - 1
        same = [Group(out=[axis], inn=[axis], strides=[1]) for axis in range(last)]
        repeated = View(groups=same + [Group(out=[last], strides=[0])])
        below = self._take(LOOKUP, shape)
        self._require(below.accumulator == Accumulator(linear=[Linear(1, operand), Linear(-1, self.step.out - 1, repeated)])
                      and below.shift == 0, "entries are not held against it")
        table = self.graph.tables[below.table - 1]
        rows = 1 << table.bits
        self._require(table.kind == PIECEWISE and table.bits > 0 and table.min == 1 - rows
                      and table.pieces == [Piece(end=rows - 1), Piece(end=rows, offset=1)],
                      "table is not that of 1 at 0 and 0 below")
        summed = View(groups=same + [Group(inn=[last], sums=[Sum(dimension=shape[last], stride=1)])])
        self._require(self._wide(Accumulator(-1, [Linear(1, below.out - 1, summed)]), "row need not have it") > 0, "row need not have it")


class _Division(_Constrained):
    """A divide step and the steps after it that force quotient and remainder."""

    name = "a division"

    def __init__(self, graph, index, ranges):
        super().__init__(graph, index)
        self.ranges = ranges
        self.quotient = self.step.out - 1
        self.remainder = self.step.remainder - 1

    def check(self):
        divisor = self._divisor()
        self._equation(divisor)
        a = self._range([Linear(1, self.remainder)], 0, "remainder has no range")
        b = self._range([divisor, Linear(-1, self.remainder)], -1, "remainder may reach the divisor")
        n = self.ranges.key(self.quotient)
        self._require(n is not None, "quotient has no range")
        narrow = (1 << a) + (1 << b) <= P and ((1 << a) + (1 << b) - 1) * ((1 << n) - 1) + (1 << a) <= P
        if not narrow:
            self._limbs(divisor, a)

    def _divisor(self):
        """The divisor, or the one term that places and repeats a source's axes."""
        identifier = self.step.divisor - 1
        t = self.graph.tensors[identifier]
        if t.kind == VIRTUAL and len(t.definition) == 1:
            summand = t.definition[0]
            if summand.coefficient > 0 and self._places(summand) is not None:
                return summand
        return Linear(1, identifier)

    def _places(self, summand):
        """The output axis of each source axis, if a term only places and repeats."""
        shape, found = self.graph.tensors[summand.source].shape, {}
        if summand.view is None:
            return list(range(len(shape)))
        if summand.view.fill:
            return None
        for g in summand.view.groups:
            if g.map != AFFINE or len(g.out) != 1 or g.base or g.sums:
                return None
            if g.inn:
                if g.strides != [1] or shape[g.inn[0]] != self.step.shape[g.out[0]]:
                    return None
                found[g.inn[0]] = g.out[0]
            elif any(g.strides):
                return None
        return [found[axis] for axis in range(len(shape))]

    def _equation(self, divisor):
        """A − D·q − r = 0"""
        acc = self.step.accumulator
        product = Product(-divisor.coefficient, divisor.source, self.quotient, self._places(divisor),
                          list(range(len(self.step.shape))))
        wanted = Accumulator(acc.constant, acc.linear + [Linear(-1, self.remainder)], acc.products + [product])
        self._require(self._take(ZERO_STEP).accumulator == wanted, "equation does not follow it")

    def _range(self, linear, constant, what):
        """The bits of a range in which the next step looks up this sum."""
        return self._wide(Accumulator(constant, linear), what)

    def _limbs(self, divisor, a):
        """The divisor is u·high + v·low, cut so that nothing wraps."""
        t = self.graph.tensors[divisor.source]
        self._require(t.kind == VIRTUAL and len(t.definition) == 2
                      and all(s.view is None and s.coefficient > 0 for s in t.definition), "terms may wrap")
        high, low = t.definition
        product = Product(1, high.source, self.quotient, self._places(divisor), list(range(len(self.step.shape))))
        c = self._wide(Accumulator(products=[product]), "upper part has no range")
        h, l, n = self.ranges.of(high.source), self.ranges.of(low.source), self.ranges.of(self.quotient)
        self._require(None not in (h, l, n), "parts have no ranges")
        u, v = high.coefficient * divisor.coefficient, low.coefficient * divisor.coefficient
        self._require(h + n <= MOST_KEY_BITS and l + n <= MOST_KEY_BITS and (u << h) + (v << l) <= P
                      and (u << c) + (v << l + n) + (1 << a) <= P, "parts may wrap")
