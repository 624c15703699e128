"""F_p with p = 2^31 − 1, and its extension K = F_p(i)(u), i² = −1, u² = 2 + i.

An element of K is a tuple (a0, a1, a2, a3) of integers from 0 to p − 1 that
stands for (a0 + a1·i) + (a2 + a3·i)·u. An element of F_p is an integer.
"""

P = 2**31 - 1

ZERO = (0, 0, 0, 0)
ONE = (1, 0, 0, 0)


def lift(v):
    """The integer v, of either sign and any size, as an element of K."""
    return (v % P, 0, 0, 0)


def add(a, b):
    return ((a[0] + b[0]) % P, (a[1] + b[1]) % P, (a[2] + b[2]) % P, (a[3] + b[3]) % P)


def sub(a, b):
    return ((a[0] - b[0]) % P, (a[1] - b[1]) % P, (a[2] - b[2]) % P, (a[3] - b[3]) % P)


def scale(a, v):
    """a times the integer v."""
    return (a[0] * v % P, a[1] * v % P, a[2] * v % P, a[3] * v % P)


def mul(a, b):
    a0, a1, a2, a3 = a
    b0, b1, b2, b3 = b
    x = a2 * b2 - a3 * b3
    y = a2 * b3 + a3 * b2
    return ((a0 * b0 - a1 * b1 + 2 * x - y) % P,
            (a0 * b1 + a1 * b0 + x + 2 * y) % P,
            (a0 * b2 - a1 * b3 + a2 * b0 - a3 * b1) % P,
            (a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0) % P)


def inverse(a):
    """1/a, and 0 for 0."""
    power, exponent = ONE, P**4 - 2
    while exponent:
        if exponent & 1:
            power = mul(power, a)
        a, exponent = mul(a, a), exponent >> 1
    return power


def total(terms):
    """The sum of elements of K."""
    t0 = t1 = t2 = t3 = 0
    for a in terms:
        t0 += a[0]
        t1 += a[1]
        t2 += a[2]
        t3 += a[3]
    return (t0 % P, t1 % P, t2 % P, t3 % P)


def horner(coefficients, x):
    """The polynomial with these coefficients, constant first, at x."""
    value = ZERO
    for c in reversed(coefficients):
        value = add(mul(value, x), c)
    return value
