#!/usr/bin/env python3
"""Alter golden proofs and keys at random: the Python verifier must refuse each.

  scripts/verify-altered.py [--count N] [--seed S] FOLDER

FOLDER has a folder with key.vk and run.proof for every proof. Most alterations
leave a file that parses, with its checksum and the key's digest put right, so
that it is the proof's own checks that refuse it. The same seed gives the same
alterations. Fails if a proof is accepted, or if whole classes of checks were
never what refused one.
"""

import argparse
import collections
import hashlib
import pathlib
import random
import re
import struct
import sys

from verifier import frames, key, packed
from verifier.errors import Invalid
from verifier.field import P
from verifier.merkle import Poseidon2
from verifier.protobuf import read_varint
from verifier.suites import SUITES
from verifier.verifier import Verifier

BODY = {3: b"\x1a", 4: b"\x22", 5: b"\x2a", 6: b"\x32"}  # tags of the frames with streams, by number
PUBLIC = 2
DEEP = 80_000  # bytes of a proof that is altered deep inside less often: verifying it takes long


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(tag, data):
    return tag + varint(len(data)) + data


class File:
    """A key and its proof, taken to frames."""

    def __init__(self, folder):
        self.name = folder.name
        self.key = (folder / "key.vk").read_bytes()
        self.proof = (folder / "run.proof").read_bytes()
        self.vk = key.read(self.key)
        self.suite = SUITES[self.vk.security.hash]
        self.most = P if self.suite is Poseidon2 else 1 << 32  # what words are below
        self.frames, position = [], 8
        while position < len(self.proof):
            length, position = read_varint(self.proof, position)
            self.frames.append(self.proof[position:position + length])
            position += length
        self.frames.pop()  # the checksum
        self.committed = len(frames.read(self.proof, self.vk).header.levels) > 0
        # Where the streams are: number of the frame, and what comes before and after the stream in it.
        self.streams = [i for i, f in enumerate(self.frames) if f[0] >> 3 in BODY and len(self.stream(i))]

    def stream(self, i):
        """The bytes of the stream in a frame."""
        frame = self.frames[i]
        _, position = read_varint(frame, 1)
        if frame[0] >> 3 != 4:
            return frame[position:]
        inner = frame[position:]
        if inner[:1] == b"\x08":  # the chunk's index
            _, at = read_varint(inner, 1)
            inner = inner[at:]
        return inner[read_varint(inner, 1)[1]:] if inner else b""

    def words(self, i):
        """The words of the stream in a frame: limbs, and those of digests."""
        return list(self.suite.words(self.stream(i), ""))

    def with_words(self, i, words):
        """The frames with another stream in one of them."""
        return self.with_stream(i, pack(words) if self.suite is Poseidon2 else struct.pack(f"<{len(words)}I", *words))

    def with_stream(self, i, data):
        """The same for its bytes."""
        frame = self.frames[i]
        if frame[0] >> 3 == 4:
            index = next(n for n, j in enumerate(k for k, f in enumerate(self.frames) if f[0] >> 3 == 4) if j == i)
            data = (b"\x08" + varint(index) if index else b"") + (field(b"\x12", data) if data else b"")
        changed = list(self.frames)
        changed[i] = field(BODY[frame[0] >> 3], data)
        return changed


def pack(limbs):
    """The stream of these limbs."""
    data = b""
    for at in range(0, len(limbs), packed.GROUP):
        group = limbs[at:at + packed.GROUP]
        bits = sum(limb << packed.LIMB_BITS * i for i, limb in enumerate(group))
        data += bits.to_bytes((packed.LIMB_BITS * len(group) + 7) // 8, "little")
    return data


def assemble(found):
    """The file of these frames, with its checksum."""
    data = frames.MAGIC + b"".join(varint(len(f)) + f for f in found)
    return data + b"\x22" + field(b"\x3a", hashlib.sha256(data).digest())


# Alterations: each gives the bytes of a key and of a proof.

def flip_byte(rng, file):
    data = bytearray(file.proof)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return file.key, bytes(data)


def flip_with_checksum(rng, file):
    found = list(file.frames)
    i = rng.randrange(len(found))
    data = bytearray(found[i])
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    found[i] = bytes(data)
    return file.key, assemble(found)


def truncate(rng, file):
    return file.key, file.proof[:rng.randrange(len(file.proof))]


def change_limb(rng, file):
    """Another canonical value for a limb. Small streams count as much as large ones."""
    i = rng.choice(file.streams)
    limbs = file.words(i)
    at = rng.randrange(len(limbs))
    limbs[at] = (limbs[at] + rng.choice([1, file.most - 1, rng.randrange(1, P)])) % file.most
    return file.key, assemble(file.with_words(i, limbs))


def swap_limbs(rng, file):
    """Two groups of four limbs change places."""
    i = rng.choice(file.streams)
    limbs = file.words(i)
    a, b = (4 * rng.randrange(max(len(limbs) // 4, 1)) for _ in range(2))
    limbs[a:a + 4], limbs[b:b + 4] = limbs[b:b + 4], limbs[a:a + 4]
    return file.key, assemble(file.with_words(i, limbs))


def resize_stream(rng, file):
    """A stream without some limbs at its end, or with some more."""
    i = rng.choice(file.streams)
    limbs = file.words(i)
    count = rng.choice([1, 4, 8, rng.randrange(1, 100)])
    limbs = limbs[:-count] if rng.random() < 0.5 else limbs + [rng.randrange(P) for _ in range(count)]
    return file.key, assemble(file.with_words(i, limbs))


def move_frames(rng, file):
    """Two frames change places, or one goes or comes twice."""
    found = list(file.frames)
    i, j = rng.sample(range(len(found)), 2)
    kind = rng.randrange(3)
    if kind == 0:
        found[i], found[j] = found[j], found[i]
    elif kind == 1:
        del found[i]
    else:
        found.insert(j, found[i])
    return file.key, assemble(found)


def foreign_frame(rng, file, files):
    """A frame of another proof, with this one's key."""
    other = rng.choice(files)
    i = rng.randrange(1, len(file.frames))
    same = [f for f in other.frames if f[0] == file.frames[i][0]]
    found = list(file.frames)
    found[i] = rng.choice(same) if same else b""
    return file.key, assemble(found)


def change_public(rng, file):
    """Another entry of an input or an output."""
    found = list(file.frames)
    data = bytearray(found[PUBLIC - 1])
    at = rng.randrange(4, len(data))
    data[at] ^= 1 << rng.randrange(7)
    found[PUBLIC - 1] = bytes(data)
    return file.key, assemble(found)


def change_key(rng, file):
    """A byte of the key, and the key's new digest in the proof."""
    data = bytearray(file.key)
    data[rng.randrange(8, len(data))] ^= 1 << rng.randrange(8)
    changed = bytes(data)
    digest = hashlib.sha256(b"prove-model key\n" + changed).digest()
    return changed, assemble([file.frames[0].replace(file.vk.commitment, digest)] + file.frames[1:])


def change_header(rng, file):
    """A bit of what the prover chose."""
    data = bytearray(file.frames[0])
    data[rng.randrange(data.index(file.vk.commitment) + 32, len(data))] ^= 1 << rng.randrange(8)
    return file.key, assemble([bytes(data)] + file.frames[1:])


PLAIN = [flip_byte, flip_with_checksum, truncate, move_frames, change_public]
STREAMS = [change_limb, change_limb, swap_limbs, resize_stream, change_key]
COMMITTED = [change_header]  # where the header has levels


def alter(rng, files):
    """An altered key and proof, and a word on what was done."""
    file = rng.choice(files)
    if len(file.proof) > DEEP and rng.random() < 0.6:
        file = rng.choice([f for f in files if len(f.proof) <= DEEP])
    change = rng.choice(PLAIN + [foreign_frame] + (STREAMS * 2 if file.streams else [])
                        + (COMMITTED if file.committed else []))
    altered = change(rng, file, files) if change is foreign_frame else change(rng, file)
    return file, change.__name__, altered


def verify(key_bytes, proof_bytes):
    vk = key.read(key_bytes)
    Verifier(vk, frames.read(proof_bytes, vk)).verify()


# What must have refused some of many alterations.
CHECKS = {
    "encodings": r"varint|field|frame|default|cut off|checksum|bytes after|not a proof|wire type|integer of more|limb",
    "public values": r"out of its tensor's range|number of (entries|inputs|outputs)|more bits than",
    "keys and headers": r"step \d|tensor \d|table \d|key|level|header|rows|free",
    "work": r"proof of work",
    "look-ups": r"look-ups",
    "sums": r"of sums fails|a sum ends|a wiring has",
    "outputs": r"output is not",
    "opening": r"Merkle|last row|last claim",
    "lengths of streams": r"too (short|long)",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    files = [File(f) for f in sorted(options.folder.iterdir()) if (f / "run.proof").exists()]
    rng = random.Random(options.seed)
    refused, seen = collections.Counter(), collections.Counter()
    while sum(refused.values()) < options.count:
        file, what, altered = alter(rng, files)
        if altered == (file.key, file.proof):
            continue
        try:
            verify(*altered)
        except Invalid as reason:
            refused[what] += 1
            seen.update(name for name, pattern in CHECKS.items() if re.search(pattern, str(reason)))
            continue
        print(f"verify-altered: {file.name}, {what}: ACCEPTED (seed {options.seed})", file=sys.stderr)
        return 1
    for title, counts in (("alterations", refused), ("refused by checks of", seen)):
        print(f"verify-altered: {title}: " + ", ".join(f"{n} {name}" for name, n in sorted(counts.items())))
    missing = [name for name in CHECKS if not seen[name]]
    if missing and options.count >= 1000:
        print(f"verify-altered: nothing was refused by checks of {', '.join(missing)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
