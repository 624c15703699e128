"""The transcript of the hash suite poseidon2 (docs/proof-format.md, "Hash suites")."""

from .errors import require
from .field import P
from .poseidon2 import RATE, WIDTH, permute

ABSORB, SQUEEZE, FORK, JOIN, GRIND = range(5)
MASK24 = (1 << 24) - 1


class Transcript:
    """A duplex sponge in overwrite mode. name and trace serve -v alone:
    trace(text) is called for every challenge."""

    def __init__(self, name="", trace=None):
        self.state = [0] * WIDTH
        self.filled = 0  # "in": lanes overwritten since the last permutation
        self.given = RATE  # "out": next lane to give
        self.name = name
        self.trace = trace

    def _permute(self, cause):
        self.state[15] = (self.state[15] + 16 * cause + self.filled) % P
        self.state = permute(self.state)
        self.filled = self.given = 0

    def absorb_all(self, limbs):
        at = 0
        while at < len(limbs):
            if self.filled == RATE:
                self._permute(ABSORB)
            taken = limbs[at:at + RATE - self.filled]
            self.state[self.filled:self.filled + len(taken)] = taken
            self.filled += len(taken)
            at += len(taken)

    def absorb_digests(self, digests):
        for digest in digests:
            self.absorb_all(digest)

    def absorb_integer(self, n):
        self.absorb_all((n & MASK24, n >> 24 & MASK24, n >> 48))

    def absorb_bytes(self, data):
        self.absorb_integer(len(data))
        self.absorb_all([int.from_bytes(data[i:i + 3], "little") for i in range(0, len(data), 3)])

    def squeeze(self):
        if self.filled > 0 or self.given == RATE:
            self._permute(SQUEEZE)
        self.given += 1
        return self.state[self.given - 1]

    def challenge(self, name):
        """An element of K."""
        value = (self.squeeze(), self.squeeze(), self.squeeze(), self.squeeze())
        self._note(name, "%d %d %d %d" % value)
        return value

    def challenges(self, names):
        """An element of K for each name."""
        return [self.challenge(name) for name in names]

    def bits(self, count):
        """An integer of count ≤ 30 bits."""
        if count == 0:
            return 0
        bound = 2**31 - 2**count
        while True:
            limb = self.squeeze()
            if limb < bound:
                return limb & (1 << count) - 1

    def index(self, count):
        """An integer of any number of bits."""
        low = min(count, 24)
        value = self.bits(low)
        return value | self.bits(count - low) << low

    def indexes(self, number, bits, name):
        values = [self.index(bits) for _ in range(number)]
        self._note(name, " ".join(map(str, values)))
        return values

    def check_work(self, bits, stream, name):
        """A proof of work: the nonce is read from the stream."""
        if bits == 0:
            return
        if self.filled > 0:
            self._permute(ABSORB)
        nonce, = stream.hints(1)
        self.absorb_all((nonce,))
        self._permute(GRIND)
        require(self.squeeze() & (1 << bits) - 1 == 0, f"{name}: the proof of work fails")
        self._note(name, f"nonce {nonce}")

    def _copy(self, name):
        copy = Transcript(name, self.trace)
        copy.state, copy.filled, copy.given = list(self.state), self.filled, self.given
        return copy

    def fork(self, index, name):
        child = self._copy(name)
        child._permute(FORK)
        child.absorb_integer(index)
        return child

    def join(self, children):
        for child in children:
            end = child._copy("")
            end._permute(JOIN)
            self.absorb_all(end.state[:RATE])

    def _note(self, name, value):
        if self.trace:
            self.trace(f"{self.name}: {name} = {value}")
