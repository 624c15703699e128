"""Trains classical models, converts them to ONNX, and writes for each FOLDER/NAME.onnx,
1,000 rows NAME.npy, and what ONNX Runtime makes of them, NAME.want.npz.

    python scripts/classical/make.py FOLDER [NAME...]
"""

import os
import sys
import warnings

import numpy as np
import onnxmltools
import onnxruntime
import skl2onnx
import skl2onnx.common.data_types
from lightgbm import LGBMClassifier, LGBMRegressor
from onnxmltools.convert.common.data_types import FloatTensorType as Features
from sklearn import datasets, discriminant_analysis, ensemble, linear_model, naive_bayes, neural_network, pipeline, preprocessing, svm, tree
from xgboost import XGBClassifier, XGBRegressor

warnings.simplefilter("ignore")
ROWS = 1000
OPSETS = {"": 17, "ai.onnx.ml": 3}

iris, cancer, wine, digits, diabetes = (
    datasets.load_iris(return_X_y=True),
    datasets.load_breast_cancer(return_X_y=True),
    datasets.load_wine(return_X_y=True),
    datasets.load_digits(return_X_y=True),
    datasets.load_diabetes(return_X_y=True),
)
friedman = datasets.make_friedman1(2000, 10, noise=0.5, random_state=0)


def scaled(model):
    return pipeline.make_pipeline(preprocessing.StandardScaler(), model)


# Name, model, data.
MODELS = [
    ("decision tree", tree.DecisionTreeClassifier(random_state=0), iris),
    ("random forest, 30 trees", ensemble.RandomForestClassifier(30, random_state=0), iris),
    ("random forest, 100 trees", ensemble.RandomForestClassifier(100, random_state=0), cancer),
    ("random forest, 100 trees, digits", ensemble.RandomForestClassifier(100, max_depth=10, random_state=0), digits),
    ("extra trees", ensemble.ExtraTreesClassifier(50, random_state=0), wine),
    ("scaler, random forest", scaled(ensemble.RandomForestClassifier(50, random_state=0)), wine),
    ("gradient boosting", ensemble.GradientBoostingClassifier(n_estimators=50, random_state=0), wine),
    ("decision tree regressor", tree.DecisionTreeRegressor(max_depth=8, random_state=0), friedman),
    ("random forest regressor", ensemble.RandomForestRegressor(50, max_depth=8, random_state=0), friedman),
    ("gradient boosting regressor", ensemble.GradientBoostingRegressor(random_state=0), diabetes),
    ("XGBoost, 2 classes", XGBClassifier(n_estimators=100, n_jobs=1), cancer),
    ("XGBoost, 3 classes", XGBClassifier(n_estimators=100, n_jobs=1), wine),
    ("XGBoost, 10 classes", XGBClassifier(n_estimators=30, n_jobs=1), digits),
    ("XGBoost regressor", XGBRegressor(n_estimators=100, n_jobs=1), friedman),
    ("LightGBM, 2 classes", LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1), cancer),
    ("LightGBM, 3 classes", LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1), wine),
    ("LightGBM regressor", LGBMRegressor(n_estimators=100, n_jobs=1, verbose=-1), friedman),
    ("logistic regression, 2 classes", scaled(linear_model.LogisticRegression()), cancer),
    ("logistic regression, 3 classes", scaled(linear_model.LogisticRegression()), wine),
    ("linear regression", linear_model.LinearRegression(), diabetes),
    ("ridge classifier", scaled(linear_model.RidgeClassifier()), wine),
    ("SVC, linear", svm.SVC(kernel="linear"), iris),
    ("SVC, RBF", scaled(svm.SVC()), wine),
    ("SVC, polynomial", scaled(svm.SVC(kernel="poly")), iris),
    ("SVR, RBF", scaled(svm.SVR()), friedman),
    ("Gaussian naive Bayes", naive_bayes.GaussianNB(), iris),
    ("Bernoulli naive Bayes", naive_bayes.BernoulliNB(binarize=8.0), digits),
    ("linear discriminant analysis", scaled(discriminant_analysis.LinearDiscriminantAnalysis()), wine),
    ("AdaBoost", ensemble.AdaBoostClassifier(n_estimators=30, random_state=0), iris),
    ("stacking", scaled(ensemble.StackingClassifier([
        ("linear", linear_model.LogisticRegression()), ("tree", tree.DecisionTreeClassifier(max_depth=4, random_state=0))])), wine),
    ("MLP classifier", scaled(neural_network.MLPClassifier((50,), max_iter=300, random_state=0)), wine),
    ("MLP regressor", scaled(neural_network.MLPRegressor(hidden_layer_sizes=(50,), max_iter=500, random_state=0)), friedman),
]


def convert(model, features):
    kind = [("x", Features([None, features]))]
    module = type(model).__module__
    if module.startswith("xgboost"):
        return onnxmltools.convert_xgboost(model, initial_types=kind, target_opset=15)
    if module.startswith("lightgbm"):
        return onnxmltools.convert_lightgbm(model, initial_types=kind, target_opset=15, zipmap=False)
    last = model.steps[-1][1] if isinstance(model, pipeline.Pipeline) else model
    options = {id(last): {"zipmap": False}} if hasattr(last, "classes_") else None
    kind = [("x", skl2onnx.common.data_types.FloatTensorType([None, features]))]
    return skl2onnx.convert_sklearn(model, initial_types=kind, options=options, target_opset=OPSETS)


def rows(x, rng):
    """Half of the rows are of the data set, half of them are moved by a third of a deviation."""
    out = x[rng.integers(0, len(x), ROWS)].copy()
    half = ROWS // 2
    out[half:] += rng.normal(size=(ROWS - half, x.shape[1])) * x.std(0) / 3
    return out.astype(np.float32)


def main():
    folder, only = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    for name, model, (x, y) in MODELS:
        if only and name not in only:
            continue
        model.fit(x.astype(np.float32), y)
        path = os.path.join(folder, name.replace(", ", "-").replace(" ", "_"))
        with open(path + ".onnx", "wb") as f:
            f.write(convert(model, x.shape[1]).SerializeToString())
        data = rows(x, np.random.default_rng(1))
        np.save(path + ".npy", data)
        session = onnxruntime.InferenceSession(path + ".onnx")
        names = [o.name for o in session.get_outputs()]
        want = session.run(None, {session.get_inputs()[0].name: data})
        for i, v in enumerate(want):
            if isinstance(v, list):  # of a ZipMap
                want[i] = np.array([list(row.values()) for row in v], np.float32)
        np.savez(path + ".want.npz", **dict(zip(names, want)))


main()
