"""The stack of pads, and the proof that products are products (docs/proof-format.md, "Hiding proofs")."""

from .field import ONE, ZERO, add, mul, sub
from .forms import Tape, add as add_forms, mul as mul_forms, sub as sub_forms
from .multilinear import eq_table

LIMBS = 4
DUMMIES = 4


class Pads:
    """Which element of the stack is what. The tapes are those of all forks."""

    def __init__(self, tapes):
        self.tapes = tapes
        self.first, products, at = [], [], 0  # where the pads of each fork begin
        for tape in tapes:
            self.first.append(at)
            products += [(at + x, at + y) for x, y in tape.products]
            at += tape.pads
        self.variables = (len(products) + DUMMIES - 1).bit_length()
        self.rounds = at
        self.products = at + 2 * self.variables
        dummies = self.products + len(products)
        self.triples = [(x, y, self.products + i) for i, (x, y) in enumerate(products)]
        self.triples += [(d, d + 1, d + 2) for d in range(dummies, dummies + 3 * DUMMIES, 3)]
        self.elements = dummies + 3 * DUMMIES

    @property
    def values(self):
        return LIMBS * self.elements

    def read(self, stream, rounds):
        """Reads the proof of products."""
        rounds.error("products of pads", self.variables)
        tau = stream.transcript.challenges([f"tau {j} of products" for j in range(self.variables)])
        stream.tape = Tape()
        claim, self.point = ZERO, []
        for j, t in enumerate(tau):
            q1, q2 = stream.element(), stream.element()
            q0 = sub_forms(claim, mul_forms(add_forms(q1, q2), t))
            rounds.error("products of pads, a sum", 3)
            r = stream.transcript.challenge(f"products, variable {j}")
            self.point.append(r)
            claim = add_forms(q0, mul_forms(add_forms(q1, mul_forms(q2, r)), r))
        self.tape, stream.tape = stream.tape, None
        self.ends = stream.elements(3)
        x, y, z = self.ends
        self.tape.equations.append(add_forms(claim, sub(z, mul(x, y))))

    def joined(self):
        """How many claims and equations there are beside the claims of forks and unused ends."""
        return len(self.ends) + sum(len(tape.equations) for tape in [*self.tapes, self.tape])

    def join(self, claims, powers):
        """The value of everything, and the weight of each element of the stack. claims are lists, of each fork, of values with
        their coefficients; powers gives the coefficients that come after those of claims and unused ends."""
        value, weights = ZERO, [ZERO] * self.elements
        eq = eq_table(self.point, len(self.triples))
        for k, end in enumerate(self.ends):
            power = next(powers)
            value = add(value, mul(power, end))
            for triple, weight in zip(self.triples, eq):
                weights[triple[k]] = add(weights[triple[k]], mul(power, weight))
        product = self.products
        for first, tape, own in zip([*self.first, self.rounds], [*self.tapes, self.tape], [*claims, []]):
            known, pads, products = tape.back(own + [(equation, next(powers)) for equation in tape.equations])
            value = add(value, known)
            for start, coefficients in (first, pads), (product, products):
                for i, c in enumerate(coefficients, start):
                    weights[i] = sub(weights[i], c)
            product += len(products)
        return value, weights


def powers_of(zeta):
    """1, ζ, ζ², …"""
    power = ONE
    while True:
        yield power
        power = mul(power, zeta)
