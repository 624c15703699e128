"""The code: Reed–Solomon over x-coordinates of the circle group
(docs/protocol.md, "Field and code"; docs/proof-format.md, "Opening")."""

from .field import ONE, P, mul, scale, sub

GENERATOR = (2, 1268011823)  # of the group of order 2^31


def _circle_add(a, b):
    return (a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P


def _multiples(bits):
    """g_bits, of order 2^bits, doubled 0, 1, … times."""
    g = GENERATOR
    for _ in range(31 - bits):
        g = _circle_add(g, g)
    found = []
    for _ in range(bits):
        found.append(g)
        g = _circle_add(g, g)
    return found


_doubles = {bits: _multiples(bits) for bits in range(2, 32)}


def domain_point(position, n):
    """The point of F_p at a position of the domain of 2^n points."""
    j, parity = 0, 0
    for k in range(n):
        parity ^= position >> k & 1
        j |= parity << n - 1 - k
    exponent = 2 * j + 1
    point = (1, 0)
    for k, g in enumerate(_doubles[n + 2]):
        if exponent >> k & 1:
            point = _circle_add(point, g)
    return point[0]


def basis(z, count):
    """t_0 = z, t_{j+1} = 2·t_j² − 1, for z in K."""
    values = []
    for _ in range(count):
        values.append(z)
        z = sub(scale(mul(z, z), 2), ONE)
    return values


def code_value(table, x):
    """Σ_b table_b·Π_j t_j(x)^{b_j} for x in F_p."""
    while len(table) > 1:
        table = [((a[0] + b[0] * x) % P, (a[1] + b[1] * x) % P, (a[2] + b[2] * x) % P, (a[3] + b[3] * x) % P)
                 for a, b in zip(table[::2], table[1::2])]
        x = (2 * x * x - 1) % P
    return table[0]
