"""The key file (docs/proof-format.md, "The key file")."""

import hashlib
import math
import struct
from dataclasses import dataclass

from . import circuit, graph
from .errors import require
from .protobuf import decode, prefix
from .layout import fixed_stacks
from .schema import Graph, Key, Security
from .soundness import TAIL_LOGS
from .suites import SUITES

MAGIC = b"PM.key\r\n"
VERSION = 4  # of keys and proofs
MOST_BYTES = 32 << 20
MOST_FILES = 1 << 16
MOST_RANGES = 3 << 20
MOST_ENDS = 1 << 10
MOST_STARTS = 1 << 6
MOST_TARGET = 120
MOST_GRIND = 24
MOST_ROW_VARS = 29
TREES = 9  # the number of the field that has the commitments, the last


@dataclass
class VerifyingKey:
    commitment: bytes  # the key digest
    graph: Graph  # a template, if it has free dimensions
    security: Security
    roots: list  # digests of the trees of fixed tensors
    row_vars: list  # log2 of the length of the rows of each
    tail_log: int = 0  # tails of a 2^tail_log-th of them, 0 without any
    text: object = None  # what tokens mean, None for other models
    beside: bytes = b""  # what the key says but for its commitments
    vocabulary: bytes = b""  # digest of what maps strings; empty for models of numbers


def read(data):
    """The key in a file of these bytes. Raises Invalid."""
    require(len(data) <= MOST_BYTES, "the key is too long")
    require(data[:8] == MAGIC, "this is not a key")
    require(data[8:12] == VERSION.to_bytes(4, "little"), "the key has another version")
    key = decode(Key, data[12:])
    require(key.graph and key.security, "the key lacks its graph or its security")
    circuit.check_free(key.graph)
    graph.check(circuit.with_sizes(key.graph, [1] * len(key.graph.free)))
    security = key.security
    require(0 < security.target_bits <= MOST_TARGET, f"the key wants {security.target_bits} bits of security")
    require(security.grind_bits <= MOST_GRIND, f"the key allows {security.grind_bits} bits of work")
    stacks = fixed_stacks(key.graph)
    require(len(key.trees) == len(stacks), "the key's trees do not go with its fixed tensors")
    tail_log = key.trees[0].tail_log if len(key.trees) == 1 else 0
    for tree in key.trees:
        require(0 < tree.row_vars <= MOST_ROW_VARS, "the length of the key's rows")
        require(tree.tail_log == tail_log, "tails of a key with a base")
        require(tail_log == 0 or tail_log in TAIL_LOGS, "the length of the tails of the key's rows")
    roots = [_digest(tree.root, SUITES[security.hash]) for tree in key.trees]
    if key.source is not None:
        _check_source(key.source)
    require(len(key.texts) <= 1, "the key has several texts")
    for text in key.texts:
        _check_text(text, key.graph)
    commitment = hashlib.sha256(b"prove-model key\n" + data).digest()
    row_vars = [tree.row_vars for tree in key.trees]
    text = key.texts[0] if key.texts else None
    vocabulary = text.vocabulary if text else b""
    return VerifyingKey(commitment, key.graph, security, roots, row_vars, tail_log, None if vocabulary else text, prefix(data[12:], TREES),
                        vocabulary)


def _digest(data, suite):
    require(len(data) == 32, "the key's root is not a digest")
    words = struct.unpack(f"<{len(data) // 4}I", data)
    suite.check_digest(words, "the key's root")
    return words


def _check_text(text, graph):
    """What tokens mean."""
    for digest in text.tokenizer, text.template, text.vocabulary:
        require(len(digest) in (0, 32) and (not digest or any(digest)), "text: a digest")
    if text.vocabulary:
        tokens = text.tokenizer or text.template or text.ends or text.writes or text.starts or text.suppressed or text.suppressed_first
        require(not tokens, "text: a vocabulary, and something of tokens")
        return
    for tokens, what in (text.ends, "end one"), (text.suppressed, "are not written"), (text.suppressed_first, "are not written first"):
        require(len(tokens) <= MOST_ENDS and all(a < b for a, b in zip(tokens, tokens[1:])) and max(tokens, default=0) < 1 << 30,
                f"text: the tokens that {what}")
    require(text.starts or not (text.suppressed or text.suppressed_first), "text: tokens that are not written, and none that a decoder's begins with")
    require(len(text.starts) <= MOST_STARTS and max(text.starts, default=0) < 1 << 30 and (text.writes or not text.starts),
            "text: the tokens that a decoder's begins with")
    indexes = circuit.wired(graph)
    require(graph.inputs and graph.inputs[0] in indexes, "text: its first input is not tokens")
    if text.writes:
        require(len(graph.inputs) == 2 and len(graph.outputs) == 1 and (text.starts or graph.inputs[1] in indexes), "text: its inputs and outputs")


def _check_source(source):
    """What the key says that it was made from; no proof depends on it."""
    require(0 < len(source.files) <= MOST_FILES and all(len(f.sha256) == 32 for f in source.files),
            "source: its files")
    require(source.quantiser > 0, "source: no version of the quantiser")
    for bits in (source.weight_bits, source.activation_bits, source.table_bits):
        require(0 < bits <= 64, f"source: {bits} bits")
    headroom, = struct.unpack("<d", struct.pack("<Q", source.headroom))
    require(math.isfinite(headroom) and headroom >= 1, "source: its headroom")
    ranges = source.ranges
    require(len(ranges) <= MOST_RANGES and len(ranges) % 3 == 0 and max(ranges, default=0) < 1 << 28,
            "source: its ranges")
    if source.formats:
        require(3 * len(source.formats) == len(ranges) and any(source.formats) and max(source.formats) < 1 << 16,
                "source: its formats")
