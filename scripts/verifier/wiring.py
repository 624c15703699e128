"""Views: which output entries are wired to which source entries
(docs/proof-format.md, "Views")."""

from itertools import product

from .field import ONE, mul, total
from .multilinear import Eq, join, size, split, variables
from .schema import AFFINE, INDEX, PUBLIC, RESHAPE


class Wiring:
    """A group of a view from a source of shape source to an output of shape out.
    public has the entries of inputs, by identifier; it is needed to evaluate alone."""

    def __init__(self, group, source, out, public=None):
        self.public = public
        self.group = group
        self.inn = group.inn
        self.out = group.out
        self.in_shape = [source[axis] for axis in group.inn]
        self.out_shape = [out[axis] for axis in group.out]

    def size(self):
        """How many pairs of entries may be wired, and how many entries there are to read."""
        sums = self.group.sums if self.group.map == AFFINE else ()
        return size(self.out_shape) * size(s.dimension for s in sums), size(self.in_shape)

    def count(self, point):
        """The view of a source of ones, at a point by axis of the output."""
        return total(weight for _, weight in self._pairs(point))

    def value(self, point, x):
        """g~ at the output point and the source point x, both by axis."""
        source = Eq(x, self.in_shape)
        return total(mul(weight, source[at]) for at, weight in self._pairs(point))

    def _pairs(self, point):
        """Source entry and eq(point, o) of every pair, one at a time."""
        if self.group.map == AFFINE:
            return self._affine(point)
        out = Eq(point, self.out_shape)
        if self.group.map == INDEX:
            return ((x - 1, out[o]) for o, x in enumerate(self.group.index) if x)
        if self.group.map == PUBLIC:
            return ((x, out[o]) for o, x in enumerate(self.public[self.group.ids]))
        return ((o, out[o]) for o in range(size(self.out_shape)))

    def _affine(self, point):
        group, entries = self.group, size(self.in_shape)
        axes = [(dimension, stride, Eq([part], [dimension]))
                for dimension, stride, part in zip(self.out_shape, group.strides, point)]
        axes += [(s.dimension, s.stride, None) for s in group.sums]  # None: the weight is 1
        axes.sort(key=lambda axis: axis[0])
        length, step, last = axes.pop() if axes else (1, 0, None)
        for places in product(*(range(dimension) for dimension, _, _ in axes)):
            at, weight = group.base, ONE
            for o, (_, stride, eq) in zip(places, axes):
                at += stride * o
                weight = mul(weight, eq[o]) if eq else weight
            for o in range(length):
                x = at + step * o
                if 0 <= x < entries:
                    yield x, mul(weight, last[o]) if last else weight

    def trivial(self):
        """Whether the group only renames variables."""
        g = self.group
        if g.map == AFFINE:
            long = [(d, stride) for d, stride in zip(self.out_shape, g.strides) if d > 1]
            if g.base or g.sums or len(long) > 1:
                return False
            if not long:
                return size(self.in_shape) == 1
            dimension, stride = long[0]
            source = self.in_shape[0] if self.in_shape else 0
            return stride == 1 and 0 < source <= dimension and variables(source) == variables(dimension)
        if g.map == RESHAPE:
            inner = [d for shape in (self.in_shape, self.out_shape) for d in [d for d in shape if d > 1][1:]]
            return all(d & d - 1 == 0 for d in inner)
        return False

    def renamed(self, point):
        """The source's coordinates by axis, of a trivial group."""
        return split(join(point), self.in_shape)
