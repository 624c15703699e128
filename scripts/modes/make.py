"""Writes folders of models for scripts/modes/run.py: digits, resnet18, mobilenet_v2, silero-vad.

    python scripts/modes/make.py FOLDER [WHEELS]

The digits are bundled; torchvision's models are exported as scripts/torchvision/run.py does
(its requirements.txt says what that takes); silero-vad comes from the wheel that
scripts/pypi-models.sh keeps in WHEELS, dist/pypi/wheels by default.
"""

import json
import os
import shutil
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def samples(folder, calibration, test, flags=()):
    """Both map inputs to arrays whose leading axis is that of samples."""
    np.savez(os.path.join(folder, "calibration.npz"), **calibration)
    np.savez(os.path.join(folder, "test.npz"), **test)
    with open(os.path.join(folder, "flags"), "w") as f:
        f.write("\n".join(flags))


def digits(folder):
    source = os.path.join(ROOT, "testdata", "digits")
    shutil.copy(os.path.join(source, "digits.onnx"), os.path.join(folder, "network.onnx"))
    read = lambda name: {"image": np.array(json.load(open(os.path.join(source, name)))["input_data"][0], np.float32).reshape(-1, 1, 1, 8, 8)}
    samples(folder, read("calibration.json"), {k: v[:1] for k, v in read("test.json").items()})


def torchvision(name):
    def make(folder):
        subprocess.run([sys.executable, os.path.join(ROOT, "scripts/torchvision/run.py"), "--export", "classification", name, "legacy", folder], check=True, stdout=2)
        read = lambda part: {"image": np.load(os.path.join(folder, part + ".npy"))[:, None]}
        samples(folder, read("calibration"), read("input"))

    return make


def silero(folder):
    wheels = sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, "dist/pypi/wheels")
    made = os.path.join(folder, "made")
    subprocess.run([sys.executable, os.path.join(ROOT, "scripts/pypi/make.py"), wheels, made, "silero-vad"], check=True)
    base = os.path.join(made, "silero-vad")
    shutil.copy(base + ".onnx", os.path.join(folder, "network.onnx"))
    samples(folder, dict(np.load(base + ".calibration.npz")), {k: v[None] for k, v in np.load(base + ".npz").items()}, open(base + ".flags").read().split())


for name, make in [("digits", digits), ("resnet18", torchvision("resnet18")), ("mobilenet_v2", torchvision("mobilenet_v2")), ("silero-vad", silero)]:
    folder = os.path.abspath(os.path.join(sys.argv[1], name))
    os.makedirs(folder, exist_ok=True)
    make(folder)
