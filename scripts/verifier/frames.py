"""The proof file (docs/proof-format.md, "The proof file")."""

import hashlib
from dataclasses import dataclass

from . import graph, hide, reveal, segments
from .circuit import Circuit, with_sizes
from .errors import require
from .multilinear import size
from .protobuf import decode, read_varint
from .key import VERSION
from .schema import Frame, Header, Public
from .texts import Texts

MAGIC = b"PM.prf\r\n"
FRAME_BYTES = 64 << 20  # or the bytes of the public values
VALUE_BYTES = 5  # of a public value at most
HEADER_BYTES = 1 << 14
MOST_LEVELS = 64
MOST_REVEALS = 64
MOST_CHUNK_ENTRIES = 1 << 27


@dataclass
class Proof:
    """The parts of a proof file. All but the first six are streams."""
    header: Header
    head: bytes  # the header's frame
    circuit: Circuit
    revealed: list  # of outputs, in their place
    texts: Texts  # None if it is of one
    public: Public
    commitments: bytes
    chunks: list
    io: bytes
    opening: bytes
    statement: bytes  # the digest of what it states


def read(data, vk):
    """The proof in a file of these bytes. Raises Invalid unless it is a proof
    for the key vk, with the frames that are due."""
    require(data[:8] == MAGIC, "this is not a proof")
    length, position = read_varint(data, 8)
    require(length <= HEADER_BYTES and position + length <= len(data), "the header is too long or cut off")
    head = data[position:position + length]
    header = decode(Frame, head).header
    require(header is not None, "the proof does not begin with a header")
    circuit, revealed, texts = _circuit(header, vk)
    end = position + length
    values = VALUE_BYTES * sum(size(circuit.tensors[t].shape) for t in vk.graph.inputs + circuit.graph.outputs)
    found = _frames(data, max(FRAME_BYTES, values))
    names = ["header", "public", "commitments"] + ["chunk"] * len(circuit.steps) + ["io", "opening"]
    require([name for name, _ in found] == names, "the proof does not have the frames that are due")
    _, public, commitments, *chunks, io, opening = (content for _, content in found)
    require([c.index for c in chunks] == list(range(len(circuit.steps))), "the chunks are out of order")
    size_of_public, start = read_varint(data, end)
    statement = hashlib.sha256(b"prove-model statement\n" + hashlib.sha256(data[:start + size_of_public]).digest()).digest()
    return Proof(header, head, circuit, revealed, texts, public, commitments, [c.body for c in chunks], io, opening, statement)


def _circuit(header, vk):
    """The circuit that the proof is about: the key's for the header's sizes, with what it reveals and hides; the former; and the texts,
    if there are several."""
    require(header.version == VERSION, "the proof has another version")
    require(header.key == vk.commitment, "the proof is for another key")
    require(header.hash == vk.security.hash, "the proof and its key are hashed in different ways")
    require(len(header.levels) <= MOST_LEVELS, "the header has too many levels")
    require(header.chunk_entries <= MOST_CHUNK_ENTRIES, "the header's chunks are too large")
    require(len(header.reveals) <= MOST_REVEALS, "the header reveals too much")
    hides = header.hidden_inputs or header.hidden_outputs
    require(header.tail_log or not hides, "a proof that hides inputs or outputs and is not masked")
    require(vk.text is None or not hides, "tokens or logits of a language model are hidden")
    require(header.texts == 0 or not hides, "several texts, of which something is hidden")
    segments.check_header(header, vk)
    if header.segment is not None:
        sized = segments.Segment(vk.graph, header.sizes, [tree.tokens for tree in header.trees[:-1]]).graph
    else:
        sized = with_sizes(vk.graph, header.sizes)
    texts = Texts(vk.graph, sized, header.texts) if header.texts else None
    sized, revealed = reveal.derive(texts.graph if texts else sized, header.reveals)
    committed = [] if header.segment is not None else header.trees
    sized = hide.derive(sized, revealed, header.hidden_inputs, header.hidden_outputs, committed)
    if header.sizes or texts or revealed or hides:
        graph.check(sized)
    return Circuit(sized, header.chunk_entries), revealed, texts


def _frames(data, most):
    """Name and content of every frame before the last, which is checked."""
    position, found = len(MAGIC), []
    while True:
        start = position
        length, position = read_varint(data, position)
        require(length <= most and position + length <= len(data), "a frame is cut off")
        frame = decode(Frame, data[position:position + length])
        position += length
        members = [(name, content) for name, content in vars(frame).items() if content is not None]
        require(len(members) == 1, "a frame has not exactly one member")
        if members[0][0] == "end":
            require(frame.end == hashlib.sha256(data[:start]).digest(), "the checksum is wrong: the file is damaged")
            require(position == len(data), "there are bytes after the end")
            return found
        found.append(members[0])
