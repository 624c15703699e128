"""Draws what `prove-model bench scale --json` prints, as SVG, and prints it as a table:

    prove-model bench scale --parameters 20..28 --json > scale.json
    python3 scripts/scale.py scale.json docs/images

writes scale-time.svg and scale-memory.svg. Several files are put together; a size that
is in two is that of the last. Needs Python alone.
"""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 150, 30, 50
COLOURS = ["#1b6ca8", "#c0392b", "#2e8b57", "#8e5ea2", "#b8860b", "#555555"]


def by_series(rows, axis, value):
    """Lists of points (x, y) by what else tells rows apart."""
    series = {}
    for r in rows:
        other = ", ".join(
            f"{n} {what}" if n != 1 else f"1 {what[:-1]}"
            for key, what, n in (("tokens", "tokens", r["tokens"]), ("devices", "GPUs", r["devices"]))
            if key != axis and any(q[key] != r[key] for q in rows)
        )
        x = 2 ** r["log_parameters"] if axis == "log_parameters" else max(r[axis], 1)
        y = value(r)
        if y > 0:
            series.setdefault(other, []).append((x, y))
    return {name: sorted(points) for name, points in series.items()}


def power(e, base):
    """base^e with a raised exponent."""
    raised = str(e).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{base}{raised}"


def plot(title, across, up, series):
    """An SVG of lists of points on logarithmic axes: powers of 2 across, of 10 up."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    x0, x1 = math.floor(math.log2(min(xs))), math.ceil(math.log2(max(xs)))
    y0, y1 = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    x1, y1 = max(x1, x0 + 1), max(y1, y0 + 1)
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(x, y):
        return LEFT + (math.log2(x) - x0) / (x1 - x0) * wide, TOP + high - (math.log10(y) - y0) / (y1 - y0) * high

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="14">{title}</text>',
    ]
    for e in range(x0, x1 + 1, max(1, (x1 - x0) // 8)):
        x, _ = at(2**e, 10**y0)
        out.append(f'<path d="M{x:.1f} {TOP}V{TOP + high}" stroke="#dddddd"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP + high + 18}" text-anchor="middle">{power(e, 2)}</text>')
    for e in range(y0, y1 + 1):
        _, y = at(2**x0, 10**e)
        out.append(f'<path d="M{LEFT} {y:.1f}H{LEFT + wide}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{power(e, 10)}</text>')
    out.append(f'<text x="{LEFT + wide / 2}" y="{HEIGHT - 12}" text-anchor="middle">{across}</text>')
    out.append(f'<text transform="translate(16 {TOP + high / 2}) rotate(-90)" text-anchor="middle">{up}</text>')
    for i, (name, points) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        places = [at(x, y) for x, y in points]
        out.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        out.append(f'<text x="{LEFT + wide + 12}" y="{TOP + 14 + 18 * i}" fill="{colour}">{name}</text>')
    return "\n".join(out + ["</svg>", ""])


def named(what, series):
    return {f"{what}, {name}" if name else what: points for name, points in series.items()}


def main(files, folder):
    by_size = {}
    for file in files:
        with open(file) as f:
            for r in json.load(f):
                by_size[r["log_parameters"], r["tokens"], r["devices"]] = r
    rows = [r for _, r in sorted(by_size.items()) if not r.get("refused")]
    if not rows:
        sys.exit("scale: nothing was measured")
    print("| parameters | tokens | GPUs | commit, s of processor time | prove | verify, ms | proof, KB | peak memory, GB | estimated |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for r in rows:
        print(
            f'| 2^{r["log_parameters"]} | {r["tokens"]} | {r["devices"]} | {r["commit_cpu_seconds"]:.2f} | {r["prove_cpu_seconds"]:.2f} '
            f'| {1e3 * r["verify_seconds"]:.1f} | {r["proof_bytes"] / 1e3:.0f} | {r["peak_memory_bytes"] / 1e9:.2f} | {r["estimated_memory_bytes"] / 1e9:.2f} |'
        )
    # Across goes what there are most sizes of.
    axis = max(("log_parameters", "tokens", "devices"), key=lambda k: len({r[k] for r in rows}))
    across = {"log_parameters": "parameters", "tokens": "tokens", "devices": "GPUs"}[axis]
    plots = {
        "time": ("seconds of processor time", {"commit": "commit_cpu_seconds", "prove": "prove_cpu_seconds", "verify": "verify_seconds"}, 1),
        "memory": ("bytes", {"peak": "peak_memory_bytes", "estimated": "estimated_memory_bytes", "proof": "proof_bytes"}, 1),
    }
    for name, (up, values, unit) in plots.items():
        series = {}
        for what, key in values.items():
            series.update(named(what, by_series(rows, axis, lambda r: r[key] / unit)))
        with open(f"{folder}/scale-{name}.svg", "w") as f:
            f.write(plot(f"A perceptron: {name}", across, up, series))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1:-1], sys.argv[-1])
