"""Tensors by formula, which the verifier evaluates by itself (docs/proof-format.md, "The key file")."""

from .field import ONE, ZERO, add, mul, scale, sub
from .multilinear import split, weighted_prefix
from .schema import AT_LEAST, EQUAL, PROGRESSION


def value(tensor, point):
    """The extension of a tensor by formula at a point."""
    f, parts = tensor.formula, split(point, tensor.shape)
    if f.kind == PROGRESSION:
        ones, indexes = weighted_prefix(parts[0], tensor.shape[0])
        return add(scale(ones, f.offset), scale(indexes, f.step))
    rows, columns = list(zip(parts, tensor.shape))
    if f.kind == AT_LEAST:  # j ≤ i − offset
        return _compared(columns, rows, -f.offset, False)
    return _compared(rows, columns, f.offset, f.kind == EQUAL)


def _compared(rows, columns, d, equal):
    """Σ eq(r, i)·eq(s, j) over i < n and j < m with i ≤ j + d, or i = j + d. Bits are taken from the highest on;
    a state is how far i is ahead of j + d, in units of the bits so far, whose lower bits never make up for two."""
    (r, n), (s, m) = rows, columns
    bits = max(len(r), len(s), abs(d).bit_length()) + 1
    states = {(-(d >> bits), 0, 0): ONE}  # (how far i is ahead, i against n, j against m): weight
    for k in reversed(range(bits)):
        found = {}
        for (ahead, at_n, at_m), weight in states.items():
            for i, wi in _bit(r, k):
                for j, wj in _bit(s, k):
                    further = max(-3, min(3, 2 * ahead + i - j - (d >> k & 1)))
                    key = (further, at_n or _order(i, n >> k & 1), at_m or _order(j, m >> k & 1))
                    found[key] = add(found.get(key, ZERO), mul(weight, mul(wi, wj)))
        states = found
    total = ZERO
    for (ahead, at_n, at_m), weight in states.items():
        if at_n < 0 and at_m < 0 and (ahead == 0 if equal else ahead <= 0):
            total = add(total, weight)
    return total


def _bit(point, k):
    """The values of bit k of an index, and their weights: 0 beyond its variables."""
    if k >= len(point):
        return [(0, ONE)]
    x = point[len(point) - 1 - k]
    return [(0, sub(ONE, x)), (1, x)]


def _order(a, b):
    return (a > b) - (a < b)
