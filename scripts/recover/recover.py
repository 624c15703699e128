"""Recover a key's weights from proofs of it, by linear algebra alone.

A proof opens each row of the weights at some positions: the row's polynomial at known points. As soon as proofs of
one key have opened as many different positions as a row has values, every value follows. The last proof is kept
aside: what was recovered must give each of its opened columns, and the key's root.

  recover.py KEY PROOF PROOF...

Exit code 0: all weights were recovered. 1: they are not determined, and by how much.
"""

import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from verifier import circuit, key, layout, merkle, statement, whir  # noqa: E402
from verifier.circle import domain_point  # noqa: E402
from verifier.field import P  # noqa: E402


def opened(vk, proof):
    """The columns of the tree of weights that a proof opens: {position: elements}."""
    columns = {}
    plain = whir.check_opening

    def record(stream, root, depth, positions, leaves, name, salts=None):
        if ", fixed " in name:
            columns.update({at: [x for group in groups for x in group] for at, groups in zip(positions, leaves)})
        return plain(stream, root, depth, positions, leaves, name, salts)

    whir.check_opening = record
    try:
        statement.check(vk, proof)
    finally:
        whir.check_opening = plain
    return columns


def basis(positions, variables):
    """A row for each position: Π_j t_j(x)^{b_j} for b in {0,1}^variables, modulo P."""
    x = numpy.array([domain_point(at, variables + 2) for at in positions], dtype=numpy.int64)
    rows = numpy.ones((len(positions), 1), dtype=numpy.int64)
    for _ in range(variables):
        rows = numpy.concatenate((rows, rows * x[:, None] % P), axis=1)
        x = (2 * x * x - 1) % P
    return rows


def solve(matrix, values):
    """The rank of the matrix modulo P, and the x with matrix·x = values if that is the number of columns."""
    n = matrix.shape[1]
    both = numpy.concatenate((matrix, values), axis=1)
    rank = 0
    for column in range(n):
        pivots = numpy.nonzero(both[rank:, column])[0]
        if len(pivots) == 0:
            continue
        pivot = rank + int(pivots[0])
        both[[rank, pivot]] = both[[pivot, rank]]
        both[rank] = both[rank] * pow(int(both[rank, column]), -1, P) % P
        factors = both[:, column].copy()
        factors[rank] = 0
        both[:, column:] = (both[:, column:] - factors[:, None] * both[rank, column:][None, :] % P) % P
        rank += 1
    return rank, both[:n, n:] if rank == n else None


def multiply(a, b):
    """a·b modulo P, for entries below P."""
    result = numpy.zeros((a.shape[0], b.shape[1]), dtype=numpy.int64)
    for k in range(a.shape[1]):
        result = (result + a[:, k:k + 1] * b[k][None, :] % P) % P
    return result


def tensors(vk, rows):
    """Each fixed tensor's values, from the rows of the tree."""
    sizes = circuit.with_sizes(vk.graph, [1] * len(vk.graph.free))
    flat = rows.reshape(-1)
    flat = numpy.where(flat > P // 2, flat - P, flat)
    fixed = [i for i, t in enumerate(sizes.tensors) if t.kind == layout.FIXED]
    stack = layout.stack_of(sizes, fixed)
    for i in fixed:
        t = sizes.tensors[i]
        parts = [flat[part.offset:part.offset + (1 << part.variables)] for part in stack.parts[i]]
        yield t, numpy.concatenate(parts)


def main():
    vk_bytes = Path(sys.argv[1]).read_bytes()
    vk = key.read(vk_bytes)
    proofs = [opened(vk_bytes, Path(path).read_bytes()) for path in sys.argv[2:]]
    aside = proofs.pop()
    known = {}
    for n, columns in enumerate(proofs, 1):
        known.update(columns)
        print(f"{n:3} proofs: {len(known)} of {4 << vk.row_vars[0]} positions; a row has {1 << vk.row_vars[0]} values", flush=True)
    positions = sorted(known)
    values = numpy.array([known[at] for at in positions], dtype=numpy.int64)
    rank, solution = solve(basis(positions, vk.row_vars[0]), values)
    if solution is None:
        print(f"not recovered: {rank} of {1 << vk.row_vars[0]} values of each row are determined")
        return 1
    everywhere = multiply(basis(range(4 << vk.row_vars[0]), vk.row_vars[0]), solution)
    wrong = sum(list(map(int, everywhere[at])) != list(column) for at, column in aside.items())
    print(f"the proof kept aside opens {len(aside)} columns, {wrong} of which are not as recovered")
    count = 0
    for t, entries in tensors(vk, solution.T):
        inside = bool(((entries >= t.min) & (entries <= t.max)).all())
        print(f"  {t.name}: {len(entries)} values from {entries.min()} to {entries.max()}"
              f"{'' if inside else ', outside of the range that the key states'}: {entries[:6].tolist()} …")
        count += len(entries)
        wrong += not inside
    print(f"recovered: {count} values" if wrong == 0 else "not recovered")
    return int(wrong != 0)


if __name__ == "__main__":
    sys.exit(main())
