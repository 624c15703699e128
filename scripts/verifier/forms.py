"""Values of K as a verifier of a masked proof has them (docs/proof-format.md, "Hiding proofs").

Elements are sent less pads that are not known. What is computed of them is a Form: a known part and a linear form in the pads
and in products of two of them. The functions here are those of field, for elements of K and forms alike.
"""

from . import field
from .field import ONE, P, ZERO, mul as times

MINUS = (P - 1, 0, 0, 0)


class Tape:
    """How the forms of a fork were computed: linear forms of earlier ones, pads, or products of pads."""

    def __init__(self):
        self.entries = []  # of each form, (earlier form, coefficient); or the number of a pad, or of a product as −1 − number
        self.pads = 0
        self.products = []  # the numbers of two pads
        self.equations = []  # what must be zero

    def _form(self, known, entry):
        self.entries.append(entry)
        return Form(known, self, len(self.entries) - 1)

    def sum(self, known, terms):
        return self._form(known, terms)

    def receive(self, sent):
        """An element that was sent less the next pad."""
        self.pads += 1
        return self._form(sent, self.pads - 1)

    def product(self, a, b):
        """Of two elements as they were received."""
        x, y = self.entries[a.at], self.entries[b.at]
        if not isinstance(x, int) or not isinstance(y, int):
            raise TypeError("a product of forms that were not received")
        self.products.append((x, y))
        z = self._form(ZERO, -len(self.products))
        return self.sum(times(a.known, b.known), [(a.at, b.known), (b.at, a.known), (z.at, ONE)])

    def back(self, weighted):
        """Of a sum of forms with weights: the known part, and the coefficients of pads and of products."""
        known, sums = ZERO, [ZERO] * len(self.entries)
        for form, weight in weighted:
            if isinstance(form, Form):
                sums[form.at] = field.add(sums[form.at], weight)
                form = form.known
            known = field.add(known, times(form, weight))
        pads, products = [ZERO] * self.pads, [ZERO] * len(self.products)
        for entry, weight in zip(reversed(self.entries), reversed(sums)):
            if weight == ZERO:
                continue
            if isinstance(entry, int):
                of, at = (pads, entry) if entry >= 0 else (products, -1 - entry)
                of[at] = field.add(of[at], weight)
                continue
            for at, coefficient in entry:
                sums[at] = field.add(sums[at], times(weight, coefficient))
        return known, pads, products


class Form:
    """A known part, and a place on a tape."""

    __slots__ = "known", "tape", "at"

    def __init__(self, known, tape, at):
        self.known, self.tape, self.at = known, tape, at


def _sum(terms):
    """Σ coefficient·value, the coefficients being elements of K."""
    known = field.total(times(v.known if isinstance(v, Form) else v, c) for v, c in terms)
    forms = [(v, c) for v, c in terms if isinstance(v, Form)]
    return forms[0][0].tape.sum(known, [(v.at, c) for v, c in forms]) if forms else known


def add(a, b):
    return field.add(a, b) if type(a) is type(b) is tuple else _sum([(a, ONE), (b, ONE)])


def sub(a, b):
    return field.sub(a, b) if type(a) is type(b) is tuple else _sum([(a, ONE), (b, MINUS)])


def scale(a, v):
    """a times the integer v."""
    return field.scale(a, v) if type(a) is tuple else _sum([(a, field.lift(v))])


def mul(a, b):
    if type(a) is type(b) is tuple:
        return times(a, b)
    if type(b) is tuple:
        return _sum([(a, b)])
    return _sum([(b, a)]) if type(a) is tuple else a.tape.product(a, b)


def total(terms):
    """The sum of values."""
    terms = list(terms)
    return field.total(terms) if all(type(v) is tuple for v in terms) else _sum([(v, ONE) for v in terms])


def horner(coefficients, x):
    """The polynomial with these coefficients, constant first, at x, which is known."""
    value = ZERO
    for c in reversed(coefficients):
        value = add(mul(value, x), c)
    return value
