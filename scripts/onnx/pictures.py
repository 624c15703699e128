"""Writes pictures in many formats, and want.json, the SHA-256 of the pixels that Pillow decodes, red, green and blue and grey;
and a model that decodes one and computes with it, with what the ONNX reference makes of it, beside the models of strings.

    pip install onnx==1.23.2 pillow==13.0.0
    python scripts/onnx/pictures.py internal/picture/testdata onnx/testdata/strings
"""

import hashlib
import io
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from PIL import Image


def drawn(height, width):
    y, x = np.mgrid[0:height, 0:width]
    noise = np.random.default_rng(7).normal(0, 20, (height, width, 3))
    waves = np.stack([127 + 100 * np.sin(x / 3 + k) + 60 * np.cos(y / 2 - k) for k in range(3)], -1)
    return Image.fromarray(np.clip(waves + noise, 0, 255).astype(np.uint8))


def main():
    folder, want = sys.argv[1], {}

    def add(name, picture, format, **options):
        file = io.BytesIO()
        picture.save(file, format=format, **options)
        with open(os.path.join(folder, name), "wb") as f:
            f.write(file.getvalue())
        read = Image.open(file)
        digests = [hashlib.sha256(np.array(read.convert(mode)).tobytes()).hexdigest() for mode in ("RGB", "L")]
        want[name] = {"height": read.height, "width": read.width, "rgb": digests[0], "grey": digests[1]}

    os.makedirs(folder, exist_ok=True)
    picture, thin = drawn(19, 35), drawn(9, 3)
    for name, sampling in (("full", 0), ("half", 1), ("quarter", 2)):
        add(f"{name}.jpg", picture, "jpeg", quality=80, subsampling=sampling)
        add(f"{name}_progressive.jpg", picture, "jpeg", quality=60, subsampling=sampling, progressive=True)
    add("thin.jpg", thin, "jpeg", subsampling=2)
    add("restarts.jpg", picture, "jpeg", quality=90, restart_marker_blocks=2, optimize=True)
    add("grey.jpg", picture.convert("L"), "jpeg")
    add("colours.png", picture, "png")
    add("palette.png", picture.convert("P"), "png")
    add("grey.png", picture.convert("L"), "png")
    add("colours.bmp", thin, "bmp")
    add("packed.tiff", picture, "tiff", compression="tiff_lzw")
    add("plain.tiff", thin, "tiff")
    add("lossy.webp", picture, "webp", quality=70)
    add("lossless.webp", picture, "webp", lossless=True)
    add("colours.ppm", thin, "ppm")
    add("grey.pgm", thin.convert("L"), "ppm")
    with open(os.path.join(folder, "want.json"), "w") as f:
        json.dump(want, f, indent=1)
    model(os.path.join(folder, "quarter.jpg"), os.path.join(sys.argv[2], "picture"))


def model(picture, path):
    """A picture in blue, green, red, of any size, made 8 × 8, and a linear model of its pixels."""
    weights = np.random.default_rng(3).normal(size=(192, 4)).astype(np.float32)
    nodes = [
        helper.make_node("ImageDecoder", ["file"], ["pixels"], pixel_format="BGR"),
        helper.make_node("Cast", ["pixels"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Div", ["numbers", "most"], ["shares"]),
        helper.make_node("Resize", ["shares", "", "", "sizes"], ["small"], mode="linear"),
        helper.make_node("Reshape", ["small", "row"], ["features"]),
        helper.make_node("MatMul", ["features", "weights"], ["scores"]),
    ]
    constants = {"most": np.float32(255), "sizes": np.array([8, 8, 3]), "row": np.array([1, -1]), "weights": weights}
    graph = helper.make_graph(nodes, "picture", [helper.make_tensor_value_info("file", TensorProto.UINT8, ["bytes"])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 4])],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(made, path + ".onnx")
    file = np.fromfile(picture, np.uint8)
    scores = ReferenceEvaluator(made).run(None, {"file": file})[0]
    with open(path + ".json", "w") as f:
        json.dump({"file": file.tolist()}, f)
    with open(path + ".want.json", "w") as f:
        json.dump({"scores": {"shape": list(scores.shape), "values": scores.flatten().tolist()}}, f)


main()
