"""Estimators of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

import prove_model

pytest.importorskip("skl2onnx")
datasets, neural = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.neural_network")


@pytest.mark.filterwarnings("ignore")
def test_perceptrons() -> None:
    images, labels = datasets.load_digits(return_X_y=True)
    images = images.astype(np.float32) / 16
    classifier = neural.MLPClassifier((16,), max_iter=20, random_state=0).fit(images[:500], labels[:500])
    proof = prove_model.prove(classifier, images[500:504], calibration=images[:200])
    (name, probabilities), = proof.outputs.items()
    assert name == "probabilities" and np.abs(probabilities - classifier.predict_proba(images[500:504])).max() < 0.01
    assert prove_model.verify(proof, proof.key, inputs=images[500:504])
    regressor = neural.MLPRegressor(hidden_layer_sizes=(8,), max_iter=20, random_state=0).fit(images[:500], labels[:500])
    proof = prove_model.prove(regressor, images[500:502], calibration=images[:200])
    assert np.allclose(next(iter(proof.outputs.values())).ravel(), regressor.predict(images[500:502]), atol=0.02)


def test_an_estimator_that_was_not_fitted() -> None:
    with pytest.raises(prove_model.ProveModelError, match="not fitted"):
        prove_model.prove(neural.MLPClassifier(), np.zeros((1, 4)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("trees", [7, 30, 100])
def test_probabilities_are_between_zero_and_one(trees: int) -> None:
    """Even where the roundings of many trees add up, in what is stated."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    wine, kinds = datasets.load_wine(return_X_y=True)
    wine = wine.astype(np.float32)
    for kind in (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier):
        proof = prove_model.prove(kind(trees, random_state=0).fit(wine[::2], kinds[::2]), wine[1::2], calibration=wine[::2])
        for outputs in (proof.outputs, prove_model.verify(proof, proof.key).outputs):
            assert outputs["probabilities"].min() >= 0 and outputs["probabilities"].max() <= 1


@pytest.mark.filterwarnings("ignore")
def test_forests() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    wine, kinds = datasets.load_wine(return_X_y=True)
    wine = wine.astype(np.float32)
    classifier = ensemble.RandomForestClassifier(20, max_depth=5, random_state=0).fit(wine[::2], kinds[::2])
    proof = prove_model.prove(classifier, wine[1::2], calibration=wine[::2])
    probabilities = proof.outputs["probabilities"]
    assert np.array_equal(probabilities.argmax(1), classifier.predict(wine[1::2]))
    assert np.abs(probabilities - classifier.predict_proba(wine[1::2])).max() < 1e-4
    assert prove_model.verify(proof, proof.key, inputs=wine[1::2])
    regressor = ensemble.RandomForestRegressor(10, max_depth=4, random_state=0).fit(wine[::2, 1:], wine[::2, 0])
    proof = prove_model.prove(regressor, wine[1::2, 1:], calibration=wine[::2, 1:])
    assert np.allclose(next(iter(proof.outputs.values())).ravel(), regressor.predict(wine[1::2, 1:]), atol=1e-3)
