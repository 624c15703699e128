"""The reduction of a fork: from products and look-ups to claims on committed tensors
(docs/proof-format.md, "The order of messages"; docs/protocol.md, "Claim reduction")."""

from collections import namedtuple

from . import formulas
from .errors import require
from .field import ONE, ZERO, lift
from .forms import add, horner, mul, scale, sub, total
from .layout import parts_number
from .multilinear import eq, evaluate_integers, join, last, mask, shape_variables, size, split, variables
from .schema import FIXED, FORMULA, INPUT, WITNESS
from .soundness import QUADRATIC
from .wiring import Wiring

# T~(point) = value for the tensor with this identifier; or, if there are rows, a sum over
# them: (first row, bits) of aligned blocks of a vector.
Claim = namedtuple("Claim", "tensor point value rows", defaults=[()])


class ViewSum:
    """factor·Σ_x source~(x)·Π g~(x_group) over the groups that do not only rename."""

    eq_variables = 0

    def __init__(self, value, factor, source, shape, wirings, parts):
        self.value = value
        self.factor = factor
        self.source = source
        self.shape = shape
        self.wirings = wirings  # (wiring, output point by axis)
        self.parts = parts  # source axis: point, for the axes that are no part of the sum
        self.variables = sum(shape_variables(w.in_shape) for w, _ in wirings)

    def weight(self, point):
        """The eq factor of A*·B* in the last claim."""
        return ONE

    def _ends(self, point):
        """Of each wiring the point by source axis."""
        start = 0
        for wiring, _ in self.wirings:
            end = start + shape_variables(wiring.in_shape)
            yield split(point[start:end], wiring.in_shape)
            start = end

    def wired(self, point):
        """B at the end of the sum."""
        value = self.factor
        for (wiring, out), x in zip(self.wirings, self._ends(point)):
            value = mul(value, wiring.value(out, x))
        return value

    def bind(self, fork, point, a, b):
        if fork.tape is None:
            require(self.wired(point) == b, f"{fork.name}: a wiring has another value at the end of its sum")
        parts = dict(self.parts)
        for (wiring, _), x in zip(self.wirings, self._ends(point)):
            parts.update(zip(wiring.inn, x))
        fork.bind(self.source, join(parts[axis] for axis in range(len(self.shape))), a)


class ProductSum:
    """Σ_{b,k} eq(ρ_b, b)·A~(b, k, ρ_A)·B~(b, k, ρ_B)."""

    def __init__(self, value, product, labels, batch, contracted, sizes):
        self.value = value
        self.product = product
        self.labels = labels  # {label: ρ}
        self.batch = batch
        self.order = batch + contracted
        self.sizes = sizes
        self.eq_variables = sum(variables(sizes[label]) for label in batch)
        self.variables = sum(variables(sizes[label]) for label in self.order)

    def _ends(self, point):
        return dict(zip(self.order, split(point, [self.sizes[label] for label in self.order])))

    def weight(self, point):
        ends = self._ends(point)
        return eq(join(self.labels[label] for label in self.batch), join(ends[label] for label in self.batch))

    def bind(self, fork, point, a, b):
        at = {**self.labels, **self._ends(point)}
        fork.bind(self.product.a, join(at[label] for label in self.product.labels_a), a)
        fork.bind(self.product.b, join(at[label] for label in self.product.labels_b), b)


class Fork:
    """One fork of the transcript with its stream: evaluates tensors, runs
    batches of sums, and gathers claims."""

    def __init__(self, circuit, public, marks, stream, rounds, budget):
        self.circuit = circuit
        self.budget = budget
        self.public = public  # identifier of an input: its entries
        self.marks = marks  # identifier of marks: what they are of
        self.stream = stream
        self.transcript = stream.transcript
        self.tape = stream.tape  # None unless the proof is masked
        self.name = self.transcript.name
        self.rounds = rounds
        self.known = {}  # (tensor, point): value
        self.claims = []
        self.saturated = {}  # table: look-ups in its saturated rows
        self.queue = []
        self.batches = 0

    # Evaluating

    def evaluate(self, tensor, point):
        """The value of a tensor at a point."""
        key = (tensor, point)
        if key not in self.known:
            self.budget.charge("values", 1)
            kind = self.circuit.tensors[tensor].kind
            if kind in (FIXED, WITNESS):
                self._claim(tensor, point, self.stream.element())
            else:
                self.known[key] = self._compute(tensor, point)
        return self.known[key]

    def bind(self, tensor, point, value):
        """A sum ended in this value of a tensor."""
        committed = self.circuit.tensors[tensor].kind in (FIXED, WITNESS)
        if committed and (tensor, point) not in self.known:
            self._claim(tensor, point, value)
        else:
            self.stream.equal(self.evaluate(tensor, point), value, f"{self.name}: a sum ends in another value of a tensor")

    def _claim(self, tensor, point, value):
        self.known[tensor, point] = value
        self.claims.append(Claim(tensor, point, value))
        self.budget.charge("blocks of claims", parts_number(self.circuit.tensors[tensor].shape))

    def count(self, tensor, rows):
        """How often saturated rows, (first row, bits) of aligned blocks, are looked up."""
        number = self.stream.limb() if self.tape is None else 0  # which is not known
        value = lift(number) if self.tape is None else self.stream.element()
        self.claims.append(Claim(tensor, (), value, rows))
        self.budget.charge("values", 1)
        self.budget.charge("blocks of claims", len(rows))
        return number

    def _compute(self, tensor, point):
        t = self.circuit.tensors[tensor]
        if tensor in self.marks:
            revealed = self.marks[tensor]
            self.budget.charge("work", size(t.shape[:-1]) * revealed.top)
            return revealed.marks_value(t.shape, self.public[revealed.at], point)
        if t.kind == INPUT:
            self.budget.charge("work", size(t.shape))
            return evaluate_integers(self.public[tensor], t.shape, point)
        if t.kind == FORMULA:
            return formulas.value(t, point)
        if t.product:
            return self._product(t.product, t.shape, point)
        return self._linear(t.definition, t.shape, point)

    def _linear(self, summands, shape, point):
        value = ZERO
        for s in summands:
            value = add(value, scale(self._view(s.source, s.view, shape, point), s.coefficient))
        return value

    def _view(self, source, view, shape, point):
        """The value of a view; what is not a renaming is sent, and queued."""
        if view is None:
            return self.evaluate(source, point)
        source_shape = self.circuit.tensors[source].shape
        out = split(point, shape)
        groups = [(Wiring(g, source_shape, shape, self.public), [out[axis] for axis in g.out]) for g in view.groups]
        self.budget.charge("values", 1)
        self.budget.charge("work", sum(sum(w.size()) for w, _ in groups if not w.trivial()))
        value = self._wired(source, source_shape, groups)
        if view.fill:
            ones = ONE
            for wiring, at in groups:
                ones = mul(ones, wiring.count(at))
            value = add(value, scale(sub(mask(out, shape), ones), view.fill))
        return value

    def _wired(self, source, source_shape, groups):
        factor, parts, rest = ONE, {}, []
        for wiring, at in sorted(groups, key=lambda group: min(group[0].inn, default=-1)):
            if wiring.trivial():
                parts.update(zip(wiring.inn, wiring.renamed(at)))
            elif shape_variables(wiring.in_shape) == 0:
                factor = mul(factor, wiring.count(at))
                parts.update((axis, ()) for axis in wiring.inn)
            else:
                rest.append((wiring, at))
        if factor == ZERO:
            return ZERO
        if not rest:
            return mul(factor, self.evaluate(source, join(parts[axis] for axis in range(len(source_shape)))))
        value = self.stream.element()
        self.queue.append(ViewSum(value, factor, source, source_shape, rest, parts))
        return value

    def accumulator(self, acc, shape, point):
        """acc~ at a point: linear summands, then products."""
        value = scale(mask(split(point, shape), shape), acc.constant) if acc.constant else ZERO
        value = add(value, self._linear(acc.linear, shape, point))
        for p in acc.products:
            value = add(value, scale(self._product(p, shape, point), p.coefficient))
        return value

    def _product(self, product, shape, point):
        labels = dict(enumerate(split(point, shape)))
        in_a, in_b = set(product.labels_a), set(product.labels_b)
        sizes = dict(zip(product.labels_a, self.circuit.tensors[product.a].shape))
        sizes.update(zip(product.labels_b, self.circuit.tensors[product.b].shape))
        both = sorted(in_a & in_b)
        batch = [label for label in both if label < len(shape)]
        contracted = [label for label in both if label >= len(shape)]
        absent = [axis for axis in range(len(shape)) if axis not in in_a | in_b]
        value = self.stream.element()
        self.queue.append(ProductSum(value, product, labels, batch, contracted, sizes))
        return mul(value, mask([labels[axis] for axis in absent], [shape[axis] for axis in absent]))

    # Sums

    def run_batches(self):
        while self.queue:
            self._batch()

    def _batch(self):
        sums, self.queue = self.queue, []
        name = f"batch {self.batches}"
        self.batches += 1
        rounds = max(s.variables for s in sums)
        self.rounds.error(f"{self.name}: {name} of sums", len(sums) - 1)
        gamma = self.transcript.challenge(f"gamma of {name}")
        weights, power = [], ONE
        for _ in sums:
            weights.append(power)
            power = mul(power, gamma)
        claim, point = ZERO, []
        for left in range(rounds, -1, -1):
            claim = total([claim] + [mul(w, s.value) for w, s in zip(weights, sums) if s.variables == left])
            if left == 0:
                break
            cubic = any(s.variables >= left > s.variables - s.eq_variables for s in sums)
            c0, c2 = self.stream.element(), self.stream.element()
            c3 = self.stream.element() if cubic else ZERO
            # H(0) + H(1) = 2·c0 + c1 + c2 + c3 = claim
            c1 = sub(claim, total((c0, c0, c2, c3)))
            self.rounds.error(f"{self.name}: {name}, a sum", 3 if cubic else QUADRATIC)
            r = self.transcript.challenge(f"{name}, variable {len(point)}")
            point.append(r)
            claim = horner((c0, c1, c2, c3), r)
        self._close(sums, weights, tuple(point), claim, name)

    def _close(self, sums, weights, point, claim, name):
        ends = []
        for s in sums:
            a, at = self.stream.element(), last(point, s.variables)
            wired = self.tape is not None and isinstance(s, ViewSum)
            ends.append((a, s.wired(at) if wired else self.stream.element()))
        terms = []
        for s, w, (a, b) in zip(sums, weights, ends):
            terms.append(mul(mul(a, b), mul(w, s.weight(last(point, s.variables)))))
        self.stream.equal(total(terms), claim, f"{self.name}: {name} of sums fails")
        for s, (a, b) in zip(sums, ends):
            s.bind(self, last(point, s.variables), a, b)
