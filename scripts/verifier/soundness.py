"""Bits of security of every challenge (docs/security.md, "Bits per round"; how
they are rounded: docs/proof-format.md, "Parameters").

Errors are integers over |K|. Bits are integers in units of 2^−24 of a bit.
"""

from dataclasses import dataclass
from math import isqrt

from .errors import require
from .schema import JOHNSON

UNIT = 24
FIELD_BITS = (124 << UNIT) - 1  # log2 |K|, rounded down
COLUMNS = 3  # of a row of a look-up: key, value, tag

# What the levels of an opening may be.
LOG_BLOWUP = 2  # of level 0
MOST_DOMAIN_BITS = 29
MOST_QUERIES = 4096
MOST_SAMPLES = 16
MULTIPLICITIES = range(3, 65)
MOST_ROW_VARIABLES = 14  # of the last level
TAIL_LOGS = range(2, 7)  # of tails
LEAST_HIDING_FOLD = 4  # variables of level 1 of a masked proof
PAD_VALUES = 8  # of a round


def log2_down(n):
    """log2 of an integer, rounded down."""
    value = n.bit_length() - 1
    x = (n << 128) >> value  # in [1, 2), with 128 fractional bits
    for _ in range(UNIT):
        x = x * x >> 128
        carry = x >> 129
        x >>= carry
        value = 2 * value + carry
    return value


def log2_up(n):
    """log2 of an integer: exact for powers of two, otherwise rounded up to the
    second unit above what log2_down gives."""
    return log2_down(n) if n & n - 1 == 0 else log2_down(n) + 2


def error_bits(error):
    """Bits of an error of error/|K|."""
    return FIELD_BITS - log2_up(error)


@dataclass
class Round:
    name: str
    bits: int  # with the work
    work: int  # whole bits


class Rounds:
    """The challenges of a proof in order, each held against a target."""

    def __init__(self, target):
        self.target = target << UNIT
        self.done = []

    def record(self, name, bits, work=0):
        bits += work << UNIT
        self.done.append(Round(name, bits, work))
        require(bits >= self.target, f"{name}: {tenths(bits) / 10} bits of security are below the key's target")

    def error(self, name, error, grind=0):
        """A challenge with an error of error/|K|. At least 1 is counted."""
        self.record(name, error_bits(max(error, 1)), grind)

    def least(self):
        """The bits of the weakest challenge, work included."""
        return min(r.bits for r in self.done)

    def least_proven(self):
        return min(r.bits - (r.work << UNIT) for r in self.done)


def tenths(bits):
    """Bits in tenths, rounded down."""
    return bits * 10 >> UNIT


# Errors, as integers over |K|

QUADRATIC = 2  # degree of a sumcheck of products of two tables


def lookups(fractions):
    """N·max(⌈log2 c⌉, 1)"""
    return fractions * (COLUMNS - 1).bit_length()


def lookup_grind(most_fractions, target):
    """The work before the look-up challenges: the least of at least 8 bits that
    reaches the target in the chunk of most fractions."""
    missing = (target << UNIT) - error_bits(lookups(most_fractions))
    return max(8, -(-missing >> UNIT))


def fractional_sum(depth):
    """L(3L + 1)/2"""
    return depth * (3 * depth + 1) // 2


def fold(level):
    """3ℓ + a, rounded up."""
    return 3 * list_size(level) + bad_challenges(level)


def constraints(number, level):
    """ℓ·t' for constraints joined into the claim on this level."""
    return list_size(level) * number


# The opening

def list_size(level):
    """ℓ: m/(2ρ), or 1."""
    return level.multiplicity << level.log_blowup - 1 if level.multiplicity else 1


def bad_challenges(level):
    """a, rounded up: n, or ((2M⁵ + 3Mδρ)/(3ρ^(3/2)))·n + M/√ρ with M = m + 1/2,
    where δρ is counted as 1."""
    n = 1 << level.row_vars + level.log_blowup
    if not level.multiplicity:
        return n
    bits = 192
    one = 1 << bits
    s = isqrt((1 << level.log_blowup + 2 * bits) - 1) + 1  # 1/√ρ, rounded up, in units of 1/one
    two_m = 2 * level.multiplicity + 1  # 2M
    a = n * (two_m**5 + 24 * two_m) * s**3 + 24 * two_m * s * one**2  # in units of 1/(48·one³)
    return -(-a // (48 * one**3))


def query_bits(level, tail_log=0):
    """−t·log2(1 − δ), 1 − δ being (1 + ρ)/2 or √ρ·(1 + 1/m); with tails (1 − ρ₀)/2 + ρ, ρ = (1 + 2^−tail_log)·ρ₀."""
    b, m = level.log_blowup, level.multiplicity
    if tail_log:
        each = (b + tail_log + 1 << UNIT) - log2_up((1 << b + tail_log) + (1 << tail_log) + 2)
    elif m:
        each = (b << UNIT - 1) - (log2_up(m + 1) - log2_down(m))
    else:
        each = (b + 1 << UNIT) - log2_up((1 << b) + 1)
    return level.queries * each


def sample_bits(level):
    """Out of domain: (ℓ²/2)·(2^(k+m)/|K|)^w"""
    each = FIELD_BITS - (level.fold_vars + level.row_vars << UNIT)
    return level.out_of_domain * each + (1 << UNIT) - 2 * log2_up(list_size(level))


def check_levels(levels, security, table, tail_log=0):
    """Refuses levels that do not fit each other, the table of the opening, or
    the security's limits. Their bits are held against the target as the
    challenges come."""
    require(bool(levels) == bool(table.trees), "the levels do not go with what is committed")
    rows = table.row_vars
    if tail_log:
        require(len(levels) >= 2 and levels[1].fold_vars >= LEAST_HIDING_FOLD, "a masked opening of too few levels or folds")
        require(2 * PAD_VALUES * levels[0].fold_vars <= 1 << min(levels[0].row_vars, MOST_DOMAIN_BITS), "rows are too short for the pads of an opening")
    for i, level in enumerate(levels):
        name = f"level {i} of the opening"
        if i == 0:
            fits = (level.fold_vars == table.variables and level.row_vars == rows
                    and level.log_blowup == LOG_BLOWUP and level.multiplicity == 0)
        else:
            fits = 0 < level.fold_vars and level.fold_vars + level.row_vars == rows and level.log_blowup > 0
        rows = level.row_vars + (1 if tail_log and i == 0 else 0)
        require(fits and level.row_vars + level.log_blowup <= MOST_DOMAIN_BITS, f"{name} does not fit")
        require(0 < level.queries <= MOST_QUERIES, f"{name}: {level.queries} queries")
        require(max(level.query_grind, level.fold_grind) <= security.grind_bits, f"{name}: too much work")
        if level.multiplicity:
            ok = (security.soundness == JOHNSON and level.multiplicity in MULTIPLICITIES
                  and 0 < level.out_of_domain <= MOST_SAMPLES)
        else:
            ok = level.out_of_domain == 0
        require(ok, f"{name}: its multiplicity or its samples")
    require(rows <= MOST_ROW_VARIABLES or not levels, "the opening's last row is too long")
