"""What a key may cost its verifier (docs/security.md, "What a key may cost").

The command works the cost out before it reads a proof; here it is counted as it
arises, and the first charge beyond a limit ends the verification.
"""

from .errors import Invalid

MOST_PUBLIC = 1 << 24  # entries of inputs and outputs
MOST_PARTS = 1 << 18  # blocks of committed tensors, and blocks that claims touch
MOST_VALUES = 1 << 17  # evaluations of tensors and of views
MOST_WORK = 1 << 26  # wired pairs, and entries of tables over public tensors


class Budget:
    def __init__(self):
        self.left = {"values": MOST_VALUES, "blocks of claims": MOST_PARTS, "work": MOST_WORK}

    def charge(self, what, amount):
        self.left[what] -= amount
        if self.left[what] < 0:
            raise Invalid(f"the key asks its verifier for too much: {what}")
