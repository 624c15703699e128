"""The proof file (docs/proof-format.md, "The proof file")."""

import hashlib
from dataclasses import dataclass

from .errors import require
from .multilinear import size
from .protobuf import decode, read_varint
from .schema import Frame, Public

MAGIC = b"PM.prf\r\n"
VERSION = 1
FRAME_BYTES = 64 << 20  # or the bytes of the public values, at most 5 each
VALUE_BYTES = 5


@dataclass
class Proof:
    """The parts of a proof file. All but public are streams."""
    public: Public
    commitments: bytes
    chunks: list
    io: bytes
    opening: bytes


def read(data, vk):
    """The proof in a file of these bytes. Raises Invalid unless it is a proof
    for the key vk, with the frames that are due."""
    graph = vk.graph
    values = VALUE_BYTES * sum(size(graph.tensors[t].shape) for t in graph.inputs + graph.outputs)
    found = _frames(data, max(FRAME_BYTES, values))
    names = ["header", "public", "commitments"] + ["chunk"] * graph.chunks + ["io", "opening"]
    require([name for name, _ in found] == names, "the proof does not have the frames that the key asks for")
    header, public, commitments, *chunks, io, opening = (content for _, content in found)
    require(header.version == VERSION, "the proof has another version")
    require(header.key == vk.commitment, "the proof is for another key")
    require([c.index for c in chunks] == list(range(graph.chunks)), "the chunks are out of order")
    return Proof(public, commitments, [c.body for c in chunks], io, opening)


def _frames(data, most):
    """Name and content of every frame before the last, which is checked."""
    require(data[:8] == MAGIC, "this is not a proof")
    position, found = 8, []
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
