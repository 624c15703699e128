"""Streams (docs/proof-format.md, "Streams and the transcript")."""

from .errors import require
from .field import P
from .forms import sub


class Stream:
    """What the prover wrote, in words: elements of F, and digests. What is sent is absorbed by the
    transcript as it is read; hints are not."""

    def __init__(self, data, suite, transcript, name, words=None):
        """words are those of the data, where it does not have them as the suite's streams do."""
        self.suite = suite
        self.transcript = transcript
        self.name = name
        self.position = 0
        self.words = tuple(suite.words(data, name) if words is None else words)
        self.tape = None  # of a masked fork

    def _take(self, count):
        start, self.position = self.position, self.position + count
        require(self.position <= len(self.words), f"{self.name}: too short")
        return self.words[start:self.position]

    def hints(self, count):
        """Elements of F."""
        values = self._take(count)
        require(max(values, default=0) < P, f"{self.name}: a limb is not below p")
        return values

    def digest_hint(self):
        value = self._take(8)
        self.suite.check_digest(value, self.name)
        return value

    def limb(self):
        value = self.hints(1)
        self.transcript.absorb_all(value)
        return value[0]

    def element(self):
        """An element of K, sent; a form if it is sent less a pad."""
        value = self.hints(4)
        self.transcript.absorb_all(value)
        return value if self.tape is None else self.tape.receive(value)

    def elements(self, count):
        return [self.element() for _ in range(count)]

    def digest(self):
        """A digest, sent."""
        value = self.digest_hint()
        self.transcript.absorb_digests([value])
        return value

    def equal(self, a, b, reason):
        """Refuses the proof unless two values are equal; of forms, that is left to the opening."""
        if self.tape is None:
            require(a == b, reason)
        else:
            self.tape.equations.append(sub(a, b))

    def end(self):
        require(self.position == len(self.words), f"{self.name}: too long")
