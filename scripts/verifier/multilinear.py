"""Multilinear extensions (docs/proof-format.md, "The order of messages").

A point is a tuple of elements of K; its first coordinate belongs to the most
significant bit of an index. An axis of dimension d has ⌈log2 d⌉ variables.
"""

from functools import reduce
from operator import mul as times

from .field import ONE, P, ZERO, add, mul, sub, total

DENSE = 1 << 12  # most entries of a table of eq that is used in pieces


def variables(dimension):
    """⌈log2 dimension⌉, dimension ≥ 1."""
    return (dimension - 1).bit_length()


def shape_variables(shape):
    return sum(map(variables, shape))


def size(shape):
    return reduce(times, shape, 1)


def split(point, shape):
    """The coordinates of every axis."""
    parts, start = [], 0
    for dimension in shape:
        end = start + variables(dimension)
        parts.append(point[start:end])
        start = end
    return parts


def join(parts):
    return tuple(c for part in parts for c in part)


def last(point, count):
    return point[len(point) - count:]


def eq(a, b):
    """Π_j a_j·b_j + (1 − a_j)·(1 − b_j) for two points."""
    value = ONE
    for x, y in zip(a, b):
        xy = mul(x, y)
        value = mul(value, sub(add(add(xy, xy), ONE), add(x, y)))
    return value


def eq_index(point, index):
    """eq of a point and the bits of an index."""
    value = ONE
    for j, r in enumerate(reversed(point)):
        value = mul(value, r if index >> j & 1 else sub(ONE, r))
    return value


def eq_table(point, count):
    """eq(point, i) for i below count."""
    table = [ONE]
    for j, r in enumerate(point):
        grown = []
        for t in table:
            high = mul(t, r)
            grown.append(sub(t, high))
            grown.append(high)
        bits_left = len(point) - 1 - j
        del grown[((count - 1) >> bits_left) + 1:]
        table = grown
    return table


def dense_table(parts, shape):
    """eq of a point, given by axis, at every entry of a tensor, row-major."""
    table = [ONE]
    for part, dimension in zip(parts, shape):
        axis = eq_table(part, dimension)
        table = axis if len(table) == 1 else [mul(a, b) for a in table for b in axis]
    return table


class Eq:
    """eq of a point, given by axis, at the entries of a tensor, row-major: a
    table if it is small, otherwise products of entries of two tables an axis."""

    def __init__(self, parts, shape):
        self.table = dense_table(parts, shape) if size(shape) <= DENSE else None
        if self.table is None:
            self.axes = []
            for part, dimension in zip(parts, shape):
                cut = len(part) // 2
                low = len(part) - cut
                high = eq_table(part[:cut], ((dimension - 1) >> low) + 1)
                self.axes.insert(0, (dimension, low, high, eq_table(part[cut:], 1 << low)))

    def __getitem__(self, index):
        if self.table:
            return self.table[index]
        value = ONE
        for dimension, low, high, table in self.axes:
            index, at = divmod(index, dimension)
            value = mul(value, mul(high[at >> low], table[at & (1 << low) - 1]))
        return value


def prefix(point, count):
    """Σ_{i < count} eq(point, i), for 0 ≤ count ≤ 2^variables."""
    return weighted_prefix(point, count)[0]


def weighted_prefix(point, count):
    """Σ_{i < count} eq(point, i) and Σ_{i < count} i·eq(point, i)."""
    n = len(point)
    below, weighted, path, at = ZERO, ZERO, ONE, 0
    if count >> n:
        return ONE, index_value(point)
    for j, r in enumerate(point):
        half = 1 << (n - 1 - j)
        taken = mul(path, r)
        if count & half:
            left = sub(path, taken)
            below = add(below, left)
            weighted = add(weighted, mul(left, add((at, 0, 0, 0), index_value(point[j + 1:]))))
            path, at = taken, at + half
        else:
            path = sub(path, taken)
    return below, weighted


def index_value(point):
    """Σ_i i·eq(point, i) over the whole cube."""
    value = ZERO
    for r in point:
        value = add(add(value, value), r)
    return value


def mask(parts, shape):
    """The index space of a tensor, 1 inside and 0 beyond, at a point by axis."""
    value = ONE
    for part, dimension in zip(parts, shape):
        if dimension != 1 << len(part):
            value = mul(value, prefix(part, dimension))
    return value


def evaluate_integers(values, shape, point):
    """The extension of a tensor of integers at a point: rows over trailing
    axes, cut into pieces of at most DENSE entries, so that tables stay small."""
    parts = split(point, shape)
    cut = max(len(shape) - 1, 0)
    while cut > 0 and size(shape[cut - 1:]) <= DENSE:
        cut -= 1
    row, pieces = size(shape[cut:]), [ONE]
    low = parts[cut:]
    if row > DENSE:  # one long axis
        keep = variables(DENSE)
        pieces = eq_table(low[0][:-keep], -(-row // DENSE))
        low = [low[0][-keep:]]
    columns = list(zip(*dense_table(low, [min(row, DENSE)] if row > DENSE else shape[cut:])))
    terms, start = [], 0
    for weight in dense_table(parts[:cut], shape[:cut]):
        for i, piece in enumerate(pieces):
            entries = values[start + i * DENSE:min(start + row, start + (i + 1) * DENSE)]
            value = tuple(sum(map(times, entries, column)) % P for column in columns)
            terms.append(mul(mul(weight, piece), value))
        start += row
    return total(terms)


def evaluate_elements(values, point):
    """The extension of 2^n elements of K at a point."""
    table = list(values)
    for r in point:
        half = len(table) // 2
        table = [add(a, mul(sub(b, a), r)) for a, b in zip(table[:half], table[half:])]
    return table[0]
