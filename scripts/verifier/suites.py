"""The hash suites by their numbers in a key (docs/proof-format.md, "Hash suites")."""

from . import blake3
from .merkle import Poseidon2

SUITES = (Poseidon2, blake3.Suite)
