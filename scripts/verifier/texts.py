"""Several texts in one proof (docs/proof-format.md, "Several texts")."""

import copy
from dataclasses import replace

from .circuit import check_ids
from .errors import require
from .schema import AFFINE, EMPTY, INPUT, PUBLIC, RESHAPE, VIRTUAL, WITNESS, Group, Linear, Tensor, View

MOST_TEXTS = 1 << 10


def part(entries, text, count):
    """What of all texts' entries is one's."""
    own = len(entries) // count
    return entries[text * own:(text + 1) * own]


class Texts:
    """The circuit of several texts, from the key's and that of one text with sizes."""

    def __init__(self, key_graph, one, count):
        require(2 <= count <= MOST_TEXTS, f"{count} texts of one proof")
        self.key_graph, self.one, self.count = key_graph, one, count
        self.lines, self.rows = set(), {}  # tensors that are the rows of all texts; derived inputs by indexes and length
        self.graph = copy.copy(one)
        self._mark()
        self.graph.tensors = [self._input(t) for t in one.tensors]
        self.graph.inputs = list(one.inputs)
        for i in range(len(one.tensors)):
            self._tensor(i)
        self.graph.steps = [self._step(s) for s in one.steps]

    def entries(self, public):
        """The entries of derived inputs, of those of all texts by tensor."""
        return {made: [i // (len(public[ids]) // self.count) * length + x for i, x in enumerate(public[ids])]
                for (ids, length), made in self.rows.items()}

    def check(self, given, inputs, writes):
        """Each text's indexes are those of entries that are there; and of texts that the model wrote one is as long as all, and
        one has as many written tokens as there are positions, where the key leaves these sizes open."""
        for text in range(self.count):
            check_ids(self.key_graph, self.one, {i: part(entries, text, self.count) for i, entries in zip(given, inputs)})
        if not writes:
            return
        ends = [(p[0], p[-1]) for p in (part(inputs[1], text, self.count) for text in range(self.count))]
        open_text, open_written = (bool(self.key_graph.tensors[i].scales) for i in self.key_graph.inputs)
        require(not open_text or max(last for _, last in ends) + 2 == len(inputs[0]) // self.count, "no text is as long as there is room")
        require(not open_written or max(last - first for first, last in ends) + 1 == len(inputs[1]) // self.count,
                "no text has as many written tokens as there is room")

    # Which tensors each text has its own of

    def _mark(self):
        divisors = {step.divisor - 1 for step in self.one.steps if step.divisor}
        self.own = []
        for i, t in enumerate(self.one.tensors):
            require(t.kind != EMPTY, "several texts: an input or an output without entries")
            own = t.kind in (INPUT, WITNESS)
            if t.kind == VIRTUAL:
                own = i in divisors or any(self.own[term.source] or public(term) for term in t.definition)
            if t.product:
                own = self.own[t.product.a] or self.own[t.product.b]
            require(own or i not in divisors, "several texts: a divisor that is the same for all")
            self.own.append(own)
        terms = [term for t in self.one.tensors for term in t.definition]
        for term in terms + [term for step in self.one.steps for term in step.accumulator.linear]:
            self._mark_lines(term)
        require(all(self.own[i] and i not in self.lines for i in self.one.outputs), "several texts: an output is not each text's own")

    def _mark_lines(self, term):
        wiring = public(term)
        require(len(wiring) <= 1, "several texts: a view is wired by two lists of indexes")
        if wiring and self.own[term.source]:
            rows = wiring[0].inn == [0] and self._continues(term.source)
            require(rows, "several texts: indexes read what does not continue rows of a text")
            self.lines.add(term.source)

    def _continues(self, identifier):
        t = self.one.tensors[identifier]
        if t.kind != VIRTUAL or len(t.definition) != 1 or t.definition[0].coefficient != 1 or t.definition[0].view is None:
            return False
        term = t.definition[0]
        shape, scales = self.one.tensors[term.source].shape, self.key_graph.tensors[term.source].scales
        alike = (scales and scales[0] and len(shape) == len(t.shape) == len(term.view.groups) and shape[0] <= t.shape[0]
                 and shape[1:] == t.shape[1:] and term.view.fill == 0)
        own = self.key_graph.tensors[identifier].scales
        alike = alike and (shape[0] == t.shape[0] or not own or own[0] == 0)
        return bool(alike) and all(group.map == AFFINE and group.out == group.inn and len(group.out) == 1 and group.base == 0
                                   and group.strides == [1] and not group.sums for group in term.view.groups)

    # With the axis of texts

    def _input(self, t):
        return replace(t, shape=[self.count, *t.shape]) if t.kind == INPUT else t

    def _tensor(self, i):
        t = self.graph.tensors[i]
        if not self.own[i] or t.kind == INPUT:
            return
        if t.product:
            self.graph.tensors[i] = replace(t, shape=[self.count, *t.shape], product=self._product(t.product))
            return
        if i in self.lines:
            source = t.definition[0].source
            count, rows, *rest = self.graph.tensors[source].shape
            groups = [Group([0], [0, 1], RESHAPE)] + [Group([a], [a + 1], AFFINE, 0, [1]) for a in range(1, len(rest) + 1)]
            shape, definition = [count * rows, *rest], [Linear(1, source, View(groups))]
        else:
            shape, definition = [self.count, *t.shape], self._terms(t.definition, len(t.shape))
        self.graph.tensors[i] = replace(t, shape=shape, definition=definition)

    def _step(self, step):
        products = [self._product(p) for p in step.accumulator.products]
        require(not step.divisor or step.divisor - 1 not in self.lines, "several texts: rows are read in another way too")
        linear = self._terms(step.accumulator.linear, len(step.shape))
        return replace(step, shape=[self.count, *step.shape], accumulator=replace(step.accumulator, linear=linear, products=products))

    def _product(self, p):
        return replace(p, labels_a=self._labels(p.a, p.labels_a), labels_b=self._labels(p.b, p.labels_b))

    def _labels(self, identifier, labels):
        require(identifier not in self.lines, "several texts: rows are read in another way too")
        return [0] * self.own[identifier] + [label + 1 for label in labels]

    def _terms(self, terms, axes):
        return [replace(term, view=self._view(term, axes)) for term in terms]

    def _view(self, term, axes):
        own = self.own[term.source]
        if public(term):
            return replace(term.view, groups=[self._wired(group, term.source) for group in term.view.groups])
        require(term.source not in self.lines, "several texts: rows are read in another way too")
        if term.view is None and own:
            return None
        view = term.view or View([Group([a], [a], AFFINE, 0, [1]) for a in range(axes)])
        texts = Group([0], [0], AFFINE, 0, [1]) if own else Group([0], [], AFFINE, 0, [0])
        return replace(view, groups=[texts] + [replace(g, out=[a + 1 for a in g.out], inn=[a + own for a in g.inn]) for g in view.groups])

    def _wired(self, group, source):
        group = replace(group, out=[a + 1 for a in group.out])
        if group.map != PUBLIC:
            return group
        ids = self._rows(group.ids, self.graph.tensors[source].shape[0]) if self.own[source] else group.ids
        return replace(group, out=[0, *group.out], ids=ids)

    def _rows(self, ids, rows):
        key = ids, rows // self.count
        if key not in self.rows:
            self.rows[key] = len(self.graph.tensors)
            self.graph.tensors.append(Tensor(shape=self.graph.tensors[ids].shape, kind=INPUT, max=rows - 1))
            self.graph.inputs.append(self.rows[key])
        return self.rows[key]


def public(term):
    """The groups of a summand that indexes of the statement wire."""
    return [group for group in term.view.groups if group.map == PUBLIC] if term.view is not None else []
