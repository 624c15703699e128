"""Views: which output entries are wired to which source entries
(docs/proof-format.md, "Views")."""

from .field import ONE, add, mul, total
from .multilinear import dense_table, eq_table, join, size, split, variables
from .schema import AFFINE, INDEX, RESHAPE


class Wiring:
    """A group of a view from a source of shape source to an output of shape out."""

    def __init__(self, group, source, out):
        self.group = group
        self.inn = group.inn
        self.out = group.out
        self.in_shape = [source[axis] for axis in group.inn]
        self.out_shape = [out[axis] for axis in group.out]

    def pairs(self):
        """How many pairs of entries may be wired."""
        sums = self.group.sums if self.group.map == AFFINE else ()
        return size(self.out_shape) * size(s.dimension for s in sums)

    def weights(self, point):
        """{source entry: Σ eq(point, o) over the output entries o wired to it},
        point by axis of the group's output."""
        if self.group.map == AFFINE:
            return self._affine(point)
        table = dense_table(point, self.out_shape)
        if self.group.map == INDEX:
            wired = [(x - 1, t) for x, t in zip(self.group.index, table) if x]
        else:
            wired = enumerate(table)
        weights = {}
        for x, t in wired:
            weights[x] = add(weights[x], t) if x in weights else t
        return weights

    def _affine(self, point):
        weights = {self.group.base: ONE}
        axes = [(eq_table(part, dimension), stride)
                for part, dimension, stride in zip(point, self.out_shape, self.group.strides)]
        axes += [([ONE] * s.dimension, s.stride) for s in self.group.sums]
        for table, stride in axes:
            moved = {}
            for x, w in weights.items():
                for o, t in enumerate(table):
                    at = x + stride * o
                    term = mul(w, t)
                    moved[at] = add(moved[at], term) if at in moved else term
            weights = moved
        return {x: w for x, w in weights.items() if 0 <= x < size(self.in_shape)}

    def count(self, point):
        """The view of a source of ones."""
        return total(self.weights(point).values())

    def value(self, point, x):
        """g~ at the output point and the source point x, both by axis."""
        weights = self.weights(point)
        table = dense_table(x, self.in_shape)
        return total(mul(w, table[at]) for at, w in weights.items())

    def trivial(self):
        """Whether the group only renames variables."""
        g = self.group
        if g.map == AFFINE:
            long = [(d, stride) for d, stride in zip(self.out_shape, g.strides) if d > 1]
            if g.base or g.sums or len(long) != 1 or len(self.in_shape) != 1:
                return False
            (dimension, stride), (source,) = long[0], self.in_shape
            return stride == 1 and source <= dimension and variables(source) == variables(dimension)
        if g.map == RESHAPE:
            inner = [d for shape in (self.in_shape, self.out_shape) for d in [d for d in shape if d > 1][1:]]
            return all(d & d - 1 == 0 for d in inner)
        return False

    def renamed(self, point):
        """The source's coordinates by axis, of a trivial group."""
        return split(join(point), self.in_shape)
