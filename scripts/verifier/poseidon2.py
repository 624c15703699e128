"""Poseidon2 over M31, width 16 (docs/proof-format.md, "Streams and the transcript").

Constants are derived here: no table is copied from anywhere, and a wrong one
makes every hash of every proof wrong.
"""

from .field import P

WIDTH = 16
RATE = 8
FULL_ROUNDS = 8
PARTIAL_ROUNDS = 14


def _grain():
    """Yields the bits of the Grain LFSR of the Poseidon paper (2019/458, App. E):
    80 bits of parameters, 160 bits thrown away, then bits in pairs, of which
    the second counts if the first is 1."""
    state = []
    for value, bits in ((1, 2), (0, 4), (31, 12), (WIDTH, 12), (FULL_ROUNDS, 10), (PARTIAL_ROUNDS, 10)):
        state += [(value >> (bits - 1 - i)) & 1 for i in range(bits)]
    state += [1] * 30

    def step():
        bit = state[62] ^ state[51] ^ state[38] ^ state[23] ^ state[13] ^ state[0]
        del state[0]
        state.append(bit)
        return bit

    for _ in range(160):
        step()
    while True:
        keep, bit = step(), step()
        if keep:
            yield bit


def round_constants():
    """The constants in the order in which they are added: 16 for each of the
    first 4 full rounds, 1 a partial round, 16 for each of the last 4. Each is
    31 bits of the stream, most significant first; values from P on are skipped."""
    bits = _grain()

    def draw():
        while True:
            value = 0
            for _ in range(31):
                value = value << 1 | next(bits)
            if value < P:
                return value

    half = FULL_ROUNDS // 2
    first = [[draw() for _ in range(WIDTH)] for _ in range(half)]
    middle = [draw() for _ in range(PARTIAL_ROUNDS)]
    last = [[draw() for _ in range(WIDTH)] for _ in range(half)]
    return first, middle, last


_FIRST, _MIDDLE, _LAST = round_constants()


def _mix(a, b, c, d):
    """M4 = circ(2, 3, 1, 1) times (a, b, c, d), not reduced."""
    s = a + b + c + d
    return s + a + b + b, s + b + c + c, s + c + d + d, s + d + a + a


def _external(s):
    """circ(2·M4, M4, M4, M4) times s, not reduced: at most 35 times as large."""
    a0, a1, a2, a3 = _mix(s[0], s[1], s[2], s[3])
    b0, b1, b2, b3 = _mix(s[4], s[5], s[6], s[7])
    c0, c1, c2, c3 = _mix(s[8], s[9], s[10], s[11])
    d0, d1, d2, d3 = _mix(s[12], s[13], s[14], s[15])
    t0, t1, t2, t3 = a0 + b0 + c0 + d0, a1 + b1 + c1 + d1, a2 + b2 + c2 + d2, a3 + b3 + c3 + d3
    return (a0 + t0, a1 + t1, a2 + t2, a3 + t3, b0 + t0, b1 + t1, b2 + t2, b3 + t3,
            c0 + t0, c1 + t1, c2 + t2, c3 + t3, d0 + t0, d1 + t1, d2 + t2, d3 + t3)


def _full(s, constants):
    """Full rounds: add constants, fifth powers, the external matrix."""
    for row in constants:
        powers = []
        for x, c in zip(s, row):
            x += c
            y = x * x % P
            powers.append(y * y % P * x % P)
        s = _external(powers)
    return s


def _partial(s):
    """Partial rounds: constant and fifth power on s[0], then the matrix of ones
    plus diag(−2, 1, 2, 4, …, 2^8, 2^10, 2^12, 2^13, 2^14, 2^15, 2^16)."""
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, xa, xb, xc, xd, xe, xf = s
    for c in _MIDDLE:
        x0 += c
        y = x0 * x0 % P
        x0 = y * y % P * x0 % P
        t = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + xa + xb + xc + xd + xe + xf
        x0 = t - x0 - x0
        x1 = (t + x1) % P
        x2 = (t + 2 * x2) % P
        x3 = (t + 4 * x3) % P
        x4 = (t + 8 * x4) % P
        x5 = (t + 16 * x5) % P
        x6 = (t + 32 * x6) % P
        x7 = (t + 64 * x7) % P
        x8 = (t + 128 * x8) % P
        x9 = (t + 256 * x9) % P
        xa = (t + 1024 * xa) % P
        xb = (t + 4096 * xb) % P
        xc = (t + 8192 * xc) % P
        xd = (t + 16384 * xd) % P
        xe = (t + 32768 * xe) % P
        xf = (t + 65536 * xf) % P
    return x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, xa, xb, xc, xd, xe, xf


def permute(s):
    """The permutation of 16 integers from 0 to P − 1; a list of the same."""
    return [x % P for x in _full(_partial(_full(_external(s), _FIRST)), _LAST)]
