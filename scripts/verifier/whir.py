"""The opening of all trees (docs/proof-format.md, "Opening")."""

from dataclasses import dataclass
from operator import mul as times

from . import soundness
from .circle import basis, code_value, domain_point
from .errors import require
from .field import ONE, P, ZERO, add, horner, inverse, lift, mul, scale, sub, total
from .merkle import check_opening
from .multilinear import eq_table, evaluate_elements, last


@dataclass
class Functional:
    """coefficient·Π_j (1 − X_j + X_j·t_j), t_0 with the last variable."""
    coefficient: tuple
    basis: list  # t_0, t_1, …

    def at(self, point):
        value = self.coefficient
        for t, x in zip(self.basis, reversed(point)):
            value = mul(value, add(sub(ONE, x), mul(x, t)))
        return value


class Opening:
    """Checks Σ Table·Q = claim. weight(point) is Q's extension."""

    def __init__(self, levels, table, stream, rounds, tail_log=0):
        self.levels = levels
        self.tail_log = tail_log  # of a masked proof, else 0
        self.table = table
        self.stream = stream
        self.transcript = stream.transcript
        self.rounds = rounds
        self.point = []
        self.functionals = []  # (number of coordinates bound before it, functional)

    def check(self, claim, weight, security):
        self._announce(claim, security)
        root = None
        for i, level in enumerate(self.levels):
            name = f"opening {i}"
            claim = self._fold(name, level, claim)
            if i == 0 and self.tail_log:
                claim = self._round(claim, f"{name}: auxiliary row", level)
            final = i == len(self.levels) - 1
            if final:
                row = self.stream.elements(1 << level.row_vars)
                samples = []
            else:
                next_root = self.stream.digest()
                samples = self._samples(i + 1)
            positions = self._positions(name, level)
            if final:
                self._check_row(name, i, root, row, positions)
            else:
                values = self._columns(name, i, root, positions)
                claim = self._constrain(i + 1, level, samples, positions, values, claim)
                root = next_root
        self._finish(row, claim, weight)

    def _announce(self, claim, security):
        t, first = self.transcript, self.levels[0]
        t.absorb_bytes(b"whir")
        for n in (security.target_bits, security.grind_bits, first.log_blowup, security.soundness, first.row_vars,
                  first.fold_vars + first.row_vars, len(self.table.trees)):
            t.absorb_integer(n)
        for tree in self.table.trees:
            t.absorb_digests([tree.root])
            for n in (tree.row_vars, tree.first_row, len(tree.groups)):
                t.absorb_integer(n)
            for slot, rows in tree.groups:
                t.absorb_integer(slot)
                t.absorb_integer(rows)
        if self.tail_log:
            t.absorb_integer(self.tail_log)
            for tree in self.table.trees:
                for n in (*(tree.tails or [0] * len(tree.groups)), int(tree.auxiliary > 0)):
                    t.absorb_integer(n)
        t.absorb_all(claim)

    def _round(self, claim, name, level=None):
        """A round of the sumcheck: the claim at its challenge."""
        q0, q2 = self.stream.element(), self.stream.element()
        q1 = sub(claim, total((q0, q0, q2)))
        if level:
            self.transcript.check_work(level.fold_grind, self.stream, f"work before {name}")
            self.rounds.error(name, soundness.fold(level), level.fold_grind)
        else:
            self.rounds.error(name, soundness.QUADRATIC)
        r = self.transcript.challenge(name)
        self.point.append(r)
        return horner((q0, q1, q2), r)

    def _fold(self, name, level, claim):
        for j in range(level.fold_vars):
            claim = self._round(claim, f"{name}: fold {j}", level)
        self.folded = tuple(last(self.point, level.fold_vars))
        return claim

    def _samples(self, i):
        level = self.levels[i]
        if level.out_of_domain:
            self.rounds.record(f"opening {i}: out of domain", soundness.sample_bits(level))
        points = self.transcript.challenges([f"opening {i}: sample {j} out of domain" for j in range(level.out_of_domain)])
        return list(zip(points, self.stream.elements(level.out_of_domain)))

    def _positions(self, name, level):
        self.transcript.check_work(level.query_grind, self.stream, f"{name}: work before the queries")
        tail_log = min(self.tail_log, self.levels[1].fold_vars - 1) if self.tail_log and level is self.levels[0] else 0
        self.rounds.record(f"{name}: {level.queries} queries", soundness.query_bits(level, tail_log), level.query_grind)
        bits = level.row_vars + level.log_blowup
        return sorted(set(self.transcript.indexes(level.queries, bits, f"{name}: positions")))

    def _columns(self, name, i, root, positions):
        """The folded row's code values at the positions, from opened leaves."""
        level = self.levels[i]
        depth = level.row_vars + level.log_blowup
        if i > 0:
            return self._elements(name, root, depth, positions, self._leaf_rows(i))
        weights, own = eq_table(self.folded, self.table.size), ZERO  # of table rows and of the auxiliary one
        if self.tail_log:
            own = self.point[-1]
            weights = [mul(w, sub(ONE, own)) for w in weights]
        values = [self._tree_values(name, tree, weights, own, positions, depth) for tree in self.table.trees]
        return [total(terms) for terms in zip(*values)]

    def _leaf_rows(self, i):
        """How many elements of K a leaf of a later level has."""
        rows = 1 << self.levels[i].fold_vars
        if i > 1 or not self.tail_log:
            return rows
        return rows // 2 + max(1, rows // 2 >> self.tail_log)  # others are behind the tail, and zero

    def _tree_values(self, name, tree, weights, own, positions, bits):
        """What a tree adds to the folded row at the positions."""
        at = sorted({position >> tree.shift for position in positions})
        leaves = [[self.stream.hints(rows) for _, rows in tree.groups] for _ in at]
        salts = [self.stream.digest_hint() for _ in at] if tree.tails else None
        check_opening(self.stream, tree.root, tree.depth, at, leaves, f"{name}, {tree.name} tree", salts)
        # Σ_R w_R·limb of the slots u with the same l = u mod 2^s, for each leaf and l.
        count = 1 << tree.shift
        slots = [slot for first, rows in tree.table_groups for slot in range(first, first + rows)]
        of_row = [weights[tree.first_row + (slot >> tree.shift)] for slot in slots] + [own] * tree.auxiliary
        slots += range(tree.auxiliary)
        order = [[j for j, slot in enumerate(slots) if slot % count == low] for low in range(count)]
        row_weights = [list(zip(*(of_row[j] for j in js))) for js in order]
        sums = {}
        for position, groups in zip(at, leaves):
            leaf = [limb for group in groups for limb in group]
            sums[position] = [tuple(sum(map(times, w, map(leaf.__getitem__, js))) % P for w in ws) if js else ZERO
                              for js, ws in zip(order, row_weights)]
        return [self._slot_sum(sums[position >> tree.shift], tree.shift, domain_point(position, bits))
                for position in positions]

    @staticmethod
    def _slot_sum(sums, shift, x):
        """Σ_l B_l(x)·sums[l]"""
        for k in range(shift):  # t_k goes with bit shift − 1 − k of l
            half = len(sums) // 2
            sums = [add(a, scale(b, x)) for a, b in zip(sums[:half], sums[half:])]
            x = (2 * x * x - 1) % P
        return sums[0]

    def _elements(self, name, root, depth, positions, rows):
        leaves = [self.stream.hints(4 * rows) for _ in positions]
        check_opening(self.stream, root, depth, positions, [[leaf] for leaf in leaves], name)
        weights = eq_table(self.folded, rows)  # of the first rows
        return [_fold_leaf(weights, leaf) for leaf in leaves]

    def _check_row(self, name, i, root, row, positions):
        """The queries of the last level against the row sent in the clear."""
        level = self.levels[i]
        depth = level.row_vars + level.log_blowup
        values = [code_value(row, domain_point(position, depth)) for position in positions]
        if i == 0:
            require(self._columns(name, i, root, positions) == values, f"{name}: the last row is not what the queries give")
            return
        # The first element of a leaf is the one with which it folds to the value.
        weights = eq_table(self.folded, self._leaf_rows(i))
        require(weights[0] != ZERO, f"{name}: the last row cannot be what the queries give")
        unit = inverse(weights[0])
        tails = [self.stream.hints(4 * len(weights) - 4) for _ in positions]
        leaves = [mul(unit, sub(value, _fold_leaf(weights[1:], tail))) + tuple(tail) for value, tail in zip(values, tails)]
        check_opening(self.stream, root, depth, positions, [[leaf] for leaf in leaves], f"{name}, last row")

    def _constrain(self, i, level, samples, positions, values, claim):
        error = soundness.constraints(level.queries + len(samples), self.levels[i])
        self.rounds.error(f"opening {i}: join {level.queries} queries", error)
        xi = self.transcript.challenge(f"opening {i}: xi")
        n = level.row_vars + level.log_blowup
        points = [z for z, _ in samples] + [lift(domain_point(p, n)) for p in positions]
        power = ONE
        for z, value in zip(points, [v for _, v in samples] + values):
            power = mul(power, xi)
            claim = add(claim, mul(power, value))
            variables = level.row_vars + (1 if self.tail_log and i == 1 else 0)
            self.functionals.append((len(self.point), Functional(power, basis(z, variables))))
        return claim

    def _finish(self, row, claim, weight):
        for j in range(self.levels[-1].row_vars):
            claim = self._round(claim, f"last sumcheck {j}")
        point = tuple(self.point)
        terms = [self._weight(point, weight)] + [f.at(point[bound:]) for bound, f in self.functionals]
        value = evaluate_elements(row, last(point, self.levels[-1].row_vars))
        require(mul(value, total(terms)) == claim, "the opening's last claim fails")


    def _weight(self, point, weight):
        """Q at the point of all rounds; in a masked proof with the pads of level 0's rounds, and zero on tails."""
        if not self.tail_log:
            return weight(point)
        k = self.levels[0].fold_vars
        rows, bound, top, inner = point[:k], point[k], point[k + 1], point[k + 2:]
        pads, later = [], ONE
        for r in reversed(rows):
            pads[:0] = [mul(later, sub(ONE, add(r, r))), mul(later, sub(mul(r, r), r))]
            later = mul(later, r)
        units = [tuple(int(i == j) for i in range(4)) for j in range(4)]  # of an element of K
        functional = [mul(w, unit) for w in pads for unit in units]
        low = (len(functional) - 1).bit_length()
        cut = len(inner) - low
        of_pads = total(map(mul, functional, eq_table(inner[cut:], len(functional))))
        for x in inner[:cut]:
            of_pads = mul(of_pads, sub(ONE, x))
        value = sub(mul(weight((*rows, *inner)), sub(ONE, bound)), mul(bound, of_pads))
        return mul(value, sub(ONE, top))


def _fold_leaf(weights, leaf):
    return total(mul(w, leaf[4 * j:4 * j + 4]) for j, w in enumerate(weights))
