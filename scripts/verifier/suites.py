"""The hash suites by their numbers in a key (docs/proof-format.md, "Hash suites")."""

from . import blake3
from .merkle import Poseidon2

SUITES = (blake3.Suite, Poseidon2)
