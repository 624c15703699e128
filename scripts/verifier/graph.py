"""What a graph must be before anything is proved about it
(docs/proof-format.md, "The key file")."""

from bisect import bisect

from . import cost, forced
from .errors import require
from .layout import parts_number
from .multilinear import shape_variables, size
from .schema import (AFFINE, ALL, DIVIDE, EMPTY, EXACT, FINITE, FIXED, FORMULA, FUNC, INDEX, INPUT, LOOKUP, MAXIMUM, PIECEWISE, PROGRESSION, PUBLIC,
                     RANGE, RESHAPE, VIRTUAL, WITNESS, ZERO)
from .wiring import Wiring

MOST_NAME_BYTES = 256
MOST_AXES = 8
MOST_VARIABLES = 34
MOST_NESTED = 1 << 10  # virtual tensors upon each other
MOST_LABELS = 24
MOST_SCALE = 1000
MOST_TABLE_BITS = 20
MOST_PIECES = 64
MOST_SATURATED = 64  # intervals of rows
MOST_STRIDE = 1 << 24  # of bases too
LARGEST_NUMBER = 1 << 34
MOST_WIRED = 1 << 24  # of a group
MOST_LISTED = 1 << 28  # entries that public indexes choose among
LARGEST = (1 << 30) - 1  # of integers, in absolute value


# First and end of the ranges of characters that no name holds, one after the other.
UNNAMED = [end for first, last in (
    (0x00, 0x1F), (0x7F, 0xA0), (0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2),
    (0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x3000, 0x3000), (0xD800, 0xF8FF),
    (0xFDD0, 0xFDEF), (0xFEFF, 0xFEFF), (0xFFF0, 0xFFFB), (0xFFFE, 0xFFFF), (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0x1FFFE, 0x1FFFF), (0x2FFFE, 0x2FFFF), (0x3FFFE, 0xE00FF), (0xE01F0, 0x10FFFF),
) for end in (first, last + 1)]


def printable(name):
    """At most 256 bytes, and nothing that a terminal would not just show."""
    return len(name.encode()) <= MOST_NAME_BYTES and all(bisect(UNNAMED, ord(c)) % 2 == 0 for c in name)


def finite(tensor):
    """The least and the greatest integer of a tensor that stand for finite numbers."""
    return tensor.min + (tensor.numbers != FINITE), tensor.max - 2 * (tensor.numbers == ALL)


def table_rows(table):
    """The intervals of a table's saturated rows: first row and end."""
    return list(zip(table.saturated[::2], table.saturated[1::2]))


def check(graph):
    """Raises Invalid unless every rule for graphs holds."""
    _Checker(graph).run()


class _Checker:
    def __init__(self, graph):
        self.graph = graph
        self.tensors = graph.tensors
        self.tables = graph.tables

    def run(self):
        g = self.graph
        for named in [g] + self.tensors + self.tables + g.steps + g.free:
            require(printable(named.name), "a name is too long or does not print")
        require(g.outputs, "a graph needs an output")
        for i, tensor in enumerate(self.tensors):
            self._tensor(i, tensor)
        self._nesting()
        self._base()
        for i, table in enumerate(self.tables):
            self._table(f"table {i}", table)
        for i, step in enumerate(g.steps):
            self._step(f"step {i}", step)
        self._inputs()
        looked_up = {step.table - 1 for step in g.steps if step.kind == LOOKUP}
        require(looked_up == set(range(len(self.tables))), "a table is not looked up in")
        forced.check(g)
        parts = sum(parts_number(t.shape) for t in self.tensors if t.kind in (FIXED, WITNESS))
        require(parts <= cost.MOST_PARTS, "committed tensors fall into too many blocks")
        public = sum(size(self.tensors[i].shape) for i in g.inputs + g.outputs)
        require(public <= cost.MOST_PUBLIC, "inputs and outputs have too many entries")

    def _base(self):
        base = self.graph.base
        fixed = sum(t.kind == FIXED for t in self.tensors)
        require(all(i < len(self.tensors) and self.tensors[i].kind == FIXED for i in base), "a tensor of the base is not fixed")
        require(len(set(base)) == len(base), "a tensor of the base comes twice")
        require(not base or len(base) < fixed, "all fixed tensors are those of the base")

    def _identifier(self, identifier, what, items):
        require(identifier < len(items), f"{what}: there is no {identifier}")
        return items[identifier]

    def _source(self, identifier, what):
        return self._identifier(identifier, what, self.tensors)

    def _entries(self, identifier, what):
        tensor = self._source(identifier, what)
        require(tensor.kind != EMPTY, f"{what}: tensor {identifier} has no entries")
        return tensor

    # Tensors and views

    def _shape(self, shape, what):
        require(len(shape) <= MOST_AXES, f"{what}: {len(shape)} axes")
        require(all(d > 0 for d in shape), f"{what}: a dimension is 0")
        require(shape_variables(shape) <= MOST_VARIABLES, f"{what}: its shape is too large")

    def _tensor(self, i, tensor):
        what = f"tensor {i}"
        if tensor.kind == EMPTY:
            self._empty(tensor, what)
            return
        self._shape(tensor.shape, what)
        least, most = finite(tensor)
        require(least <= most, f"{what}: codes in too small a range")
        self._units(i, what, tensor)
        require(-LARGEST <= tensor.min <= tensor.max <= LARGEST, f"{what}: its range is not within ±2^30")
        require((tensor.kind == VIRTUAL) == bool(tensor.definition or tensor.product) and not (tensor.definition and tensor.product),
                f"{what}: exactly the virtual tensors have a definition, a sum or a product")
        self._formula(what, tensor)
        if tensor.product:
            self._product_tensor(i, tensor, what)
        for summand in tensor.definition:
            require(summand.source < i, f"{what}: its definition looks ahead")
            self._linear(summand, tensor.shape, what)

    def _product_tensor(self, i, tensor, what):
        p = tensor.product
        require(p.a < i and p.b < i, f"{what}: its definition looks ahead")
        self._product(p, tensor.shape, what)
        require(not self.tensors[p.a].product and not self.tensors[p.b].product, f"{what}: a product of a product")
        require(set(p.labels_a) | set(p.labels_b) == set(range(len(tensor.shape))) and p.coefficient == 1,
                f"{what}: its axes are not all those of the operands, or it has a factor")

    def _nesting(self):
        depth = []
        for i, tensor in enumerate(self.tensors):
            sources = [s.source for s in tensor.definition] + ([tensor.product.a, tensor.product.b] if tensor.product else [])
            depth.append(1 + max(depth[s] for s in sources) if sources else 0)
            require(depth[i] <= MOST_NESTED, f"tensor {i}: too many virtual tensors upon each other")

    def _empty(self, tensor, what):
        require(len(tensor.shape) <= MOST_AXES and 0 in tensor.shape and max(tensor.shape) <= 1 << MOST_VARIABLES,
                f"{what}: its shape is not one without entries")
        said = (tensor.frac, tensor.fracs, tensor.min, tensor.max, tensor.numbers, tensor.definition, tensor.product, tensor.formula)
        require(not any(said), f"{what}: it has no entries, and says what they are")

    def _formula(self, what, tensor):
        f = tensor.formula
        require((tensor.kind == FORMULA) == (f is not None), f"{what}: exactly the tensors by formula have one")
        if f is None:
            return
        require(len(tensor.shape) == (1 if f.kind == PROGRESSION else 2), f"{what}: another shape than its formula's")
        require(abs(f.offset) <= LARGEST and abs(f.step) <= LARGEST and (f.kind == PROGRESSION or f.step == 0),
                f"{what}: a number of its formula is out of range")
        ends = (0, 1)
        if f.kind == PROGRESSION:
            ends = (f.offset, f.offset + f.step * (tensor.shape[0] - 1))
        require(tensor.min <= min(ends) and max(ends) <= tensor.max, f"{what}: entries of its formula are out of its range")

    def _units(self, i, what, tensor):
        if tensor.fracs:
            require((tensor.kind == INPUT or i in self.graph.hidden) and tensor.frac == 0 and tensor.shape[-1:] == [len(tensor.fracs)],
                    f"{what}: scales that are not one an index of an input's last axis")
        require(all(abs(frac) <= MOST_SCALE for frac in [tensor.frac] + tensor.fracs),
                f"{what}: a scale is out of range")

    def _linear(self, summand, shape, what):
        require(abs(summand.coefficient) <= LARGEST, f"{what}: a coefficient is out of range")
        source = self._entries(summand.source, what).shape
        require(not self.tensors[summand.source].product, f"{what}: a source is a product")
        if summand.view is None:
            require(source == shape, f"{what}: a source has another shape")
            return
        view = summand.view
        require(abs(view.fill) <= LARGEST, f"{what}: a fill value is out of range")
        require(not (view.fill and any(g.sums for g in view.groups)), f"{what}: a view with a fill value and a sum")
        self._each_once([g.inn for g in view.groups], len(source), f"{what}: a view's source axes")
        self._each_once([g.out for g in view.groups], len(shape), f"{what}: a view's output axes")
        for group in view.groups:
            self._group(group, Wiring(group, source, shape), f"{what}: a group of a view")

    def _each_once(self, lists, axes, what):
        require(sorted(axis for axes in lists for axis in axes) == list(range(axes)), f"{what} are not each used once")

    def _group(self, group, wiring, what):
        require(group.inn == list(range(group.inn[0], group.inn[0] + len(group.inn))) if group.inn else True,
                f"{what}: its source axes are not adjacent")
        if group.map == AFFINE:
            self._affine(group, wiring, what)
        elif group.map == INDEX:
            require(len(group.inn) == len(group.out) == 1 and len(group.index) == wiring.out_shape[0],
                    f"{what}: malformed")
            require(max(group.index) <= wiring.in_shape[0], f"{what}: an index is out of range")
        elif group.map == PUBLIC:
            self._public(group, wiring, what)
        else:
            require(size(wiring.in_shape) == size(wiring.out_shape), f"{what}: a reshape changes the size")
        affine = (group.base, group.strides, group.sums)
        unused = {AFFINE: (group.index, group.ids), INDEX: (*affine, group.ids),
                  RESHAPE: (*affine, group.index, group.ids), PUBLIC: (*affine, group.index)}[group.map]
        require(not any(unused) and (group.inn or group.out), f"{what}: a field without a use")
        if not wiring.trivial():
            pairs, entries = wiring.size()
            require(pairs <= MOST_WIRED and entries <= (MOST_LISTED if group.map == PUBLIC else MOST_WIRED), f"{what}: too large")

    def _public(self, group, wiring, what):
        ids = self._source(group.ids, what)
        require(len(group.inn) == 1 and ids.kind == INPUT, f"{what}: malformed")
        require(size(ids.shape) == size(wiring.out_shape), f"{what}: not one public index an entry")
        require(0 <= ids.min and ids.max < wiring.in_shape[0], f"{what}: public indexes may be out of range")

    def _affine(self, group, wiring, what):
        require(len(group.inn) <= 1 and len(group.strides) == len(group.out), f"{what}: malformed")
        strides = group.strides + [s.stride for s in group.sums]
        most = LARGEST_NUMBER if wiring.trivial() else MOST_STRIDE
        require(all(abs(s) <= most for s in [group.base] + strides), f"{what}: a stride is out of range")
        require(all(s.dimension > 0 for s in group.sums), f"{what}: an empty sum")

    # Tables and steps

    def _table(self, what, table):
        require(table.bits <= MOST_TABLE_BITS, f"{what}: {table.bits} bits")
        require(abs(table.min) <= LARGEST, f"{what}: its first key is out of range")
        if table.values:
            values = self._source(table.values - 1, what)
        require((table.kind == PIECEWISE or not table.pieces) and (table.kind == FUNC or not table.values),
                f"{what}: a field without a use")
        require(table.drop == 0 or (table.kind == PIECEWISE and table.min == 0 and table.drop < table.bits),
                f"{what}: {table.drop} of {table.bits} bits of keys without a meaning")
        if table.kind == PIECEWISE:
            require(len(table.pieces) <= MOST_PIECES, f"{what}: too many pieces")
            ends = [0] + [p.end for p in table.pieces]
            require(all(a < b for a, b in zip(ends, ends[1:])) and ends[-1] == 1 << table.bits - table.drop,
                    f"{what}: its pieces do not cover it")
            require(all(max(abs(p.slope), abs(p.offset)) <= LARGEST for p in table.pieces),
                    f"{what}: a piece is out of range")
        self._saturated(what, table)
        if table.kind == FUNC:
            require(table.values and values.kind == FIXED and values.shape == [1 << table.bits],
                    f"{what}: its values are not a fixed tensor of its size")

    def _saturated(self, what, table):
        ends = table.saturated
        require(len(ends) % 2 == 0 and len(ends) <= 2 * MOST_SATURATED and (table.kind != RANGE and table.drop == 0 or not ends),
                f"{what}: {len(ends)} ends of saturated rows")
        require(all(a < b for a, b in zip(ends, ends[1:])) and ends[-1:] <= [1 << table.bits],
                f"{what}: saturated rows that are none of its own")
        start = 0
        for piece in table.pieces:
            flat = piece.slope == 0 or all(end <= start or piece.end <= first for first, end in table_rows(table))
            require(flat, f"{what}: saturated rows whose values differ")
            start = piece.end

    def _step(self, what, step):
        self._shape(step.shape, what)
        require(step.accumulator is not None, f"{what}: it has no accumulator")
        for identifier in (step.remainder, step.out, step.divisor):
            if identifier:
                require(not self._entries(identifier - 1, what).product, f"{what}: a result or a divisor is a product")
        if step.table:
            self._identifier(step.table - 1, f"{what}, table", self.tables)
        acc = step.accumulator
        require(abs(acc.constant) <= LARGEST, f"{what}: its constant is out of range")
        for summand in acc.linear:
            self._linear(summand, step.shape, what)
        for product in acc.products:
            self._product(product, step.shape, f"{what}: a product")
            require(not (self.tensors[product.a].product and self.tensors[product.b].product), f"{what}: a product of two products")
        unused = {LOOKUP: (step.divisor,), DIVIDE: (step.shift, step.table),
                  MAXIMUM: (step.shift, step.remainder, step.table, acc.constant, acc.linear, acc.products),
                  EXACT: (step.shift, step.remainder, step.table, step.divisor),
                  ZERO: (step.shift, step.remainder, step.table, step.out, step.divisor)}
        require(not any(unused[step.kind]), f"{what}: a field without a use")
        if step.kind == LOOKUP:
            self._lookup(what, step)
        elif step.kind == EXACT:
            require(step.out, f"{what}: it has no output")
        elif step.kind == DIVIDE:
            require(step.out and step.remainder and step.divisor, f"{what}: a division lacks an operand")
            require(self.tensors[step.divisor - 1].shape == step.shape, f"{what}: its divisor has another shape")
        elif step.kind == MAXIMUM:
            require(step.out and step.divisor, f"{what}: a maximum lacks an operand")
            operand = self.tensors[step.divisor - 1].shape
            require(operand and operand[:-1] == step.shape, f"{what}: its operand has another shape")

    def _lookup(self, what, step):
        require(step.table, f"{what}: it has no table")
        table = self.tables[step.table - 1]
        require(bool(step.shift) == bool(step.remainder), f"{what}: its shift does not go with its remainder")
        require(step.shift == 0 or step.shift + table.bits <= forced.MOST_KEY_BITS,
                f"{what}: shift and table are too wide")
        require(bool(step.out) == (table.kind != RANGE), f"{what}: the table's values do not go with its output")

    def _product(self, product, shape, what):
        require(abs(product.coefficient) <= LARGEST, f"{what}: its coefficient is out of range")
        sizes = dict(enumerate(shape))
        for identifier, labels in ((product.a, product.labels_a), (product.b, product.labels_b)):
            operand = self._entries(identifier, what).shape
            require(len(labels) == len(operand), f"{what}: not one label an axis")
            require(len(set(labels)) == len(labels) and all(label < MOST_LABELS for label in labels),
                    f"{what}: a label is out of range or comes twice")
            for label, dimension in zip(labels, operand):
                require(sizes.setdefault(label, dimension) == dimension, f"{what}: label {label} has two dimensions")
        for label in set(product.labels_a) ^ set(product.labels_b):
            require(label < len(shape), f"{what}: a contracted label is in one operand only")

    # The whole

    def _inputs(self):
        g = self.graph
        for i in g.outputs:
            require(not self._source(i, "outputs").product, "an output is a product")
        some = [i for i in g.inputs if self._source(i, "inputs").kind != EMPTY]
        require(sorted(some) == [i for i, t in enumerate(self.tensors) if t.kind == INPUT] and len(set(g.inputs)) == len(g.inputs),
                "the inputs are not the input tensors, each once")
        for i, t in enumerate(self.tensors):
            require(t.kind != EMPTY or i in g.inputs or i in g.outputs, f"tensor {i} has no entries and is no input or output")
            require(t.numbers == FINITE or t.kind == INPUT or i in g.outputs, f"tensor {i} has codes and is no input or output")
