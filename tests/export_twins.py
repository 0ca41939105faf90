"""A float64 twin of whole networks, hard and soft trees together, and random models to compare exports on.

The twin reads the flat parameters by counting through them, unit by unit, and shares no code with the package.
"""

import numpy as np
from hypothesis import strategies as st
from scipy.special import expit, ndtr
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from neuralforest import ForestNetwork, NeuralForestClassifier, NeuralForestRegressor, TreeEnsemble
from twins import leaves

# --- the twin --------------------------------------------------------------------------------------------------------


def output(network, X, rounded=False):
    """Return the raw predictions, (rows, outputs).

    `rounded` is whether the scaled inputs are rounded to float32, as `predict` does.
    """
    e, soft = network.ensemble, network.soft
    X = np.asarray(X).astype(e.compare_dtype)
    total, n_soft = np.zeros((len(X), e.n_outputs)), 0
    hard_trees = range(e.n_trees)
    if soft is not None:
        hard_trees = []
        for trees, is_hard, out in _subnetworks(network, X, rounded):
            if is_hard:
                hard_trees += trees
                continue
            total += (soft.output_center + soft.output_scale * out) * (len(trees) if e.aggregation == "mean" else 1)
            n_soft += 1
    found = leaves(e, X)
    for tree in hard_trees:
        total += e.value[e.first_leaf[tree] + found[:, tree]]
    if e.aggregation == "mean":
        return total / e.n_trees
    n_groups = len(e.groups) - 1
    return (total + (n_groups - n_soft) * e.base_score) / n_groups


def predict(network, X, rounded=False):
    """Return predictions (rows, outputs) or probabilities (rows, classes)."""
    raw, e = output(network, X, rounded), network.ensemble
    if e.classes is None:
        return np.exp(raw) if e.link == "log" else raw
    if e.link == "softmax":
        power = np.exp(raw - raw.max(axis=1, keepdims=True))
        return power / power.sum(axis=1, keepdims=True)
    if e.link == "identity":
        return raw
    second = expit(raw) if e.link == "logit" else ndtr(raw)
    return np.hstack([1 - second, second])


def _subnetworks(network, X, rounded):
    """Yield the trees of every subnetwork, whether they are evaluated as trees, and its output (rows, outputs)."""
    e, soft = network.ensemble, network.soft
    numbers = iter(soft.parameters.astype(np.float64))
    x = (X.astype(np.float64) - soft.center) / soft.scale
    x = np.where(x < soft.low, soft.low, np.where(x > soft.high, soft.high, x))
    x = x.astype(np.float32).astype(np.float64) if rounded else x
    for subnetwork, is_hard in enumerate(soft.hard):
        trees = range(soft.first_tree[subnetwork], soft.first_tree[subnetwork + 1])
        yield trees, is_hard, _subnetwork(e, soft, trees, x, numbers)
    assert next(numbers, None) is None


def _subnetwork(e, soft, trees, x, numbers):
    contrast1, contrast2 = (float(np.float32(contrast)) for contrast in soft.contrast)
    splits = [k for t in trees for k in range(e.first_split[t], e.first_split[t + 1])]
    leaf0 = {t: sum(e.first_leaf[s + 1] - e.first_leaf[s] for s in trees if s < t) for t in trees}
    n_leaves = sum(e.first_leaf[t + 1] - e.first_leaf[t] for t in trees)
    W1, W2 = np.zeros((len(splits), e.n_features)), np.zeros((n_leaves, len(splits)))
    for unit, k in enumerate(splits):
        for feature in range(e.n_features) if soft.connectivity == "full" else [e.feature[k]]:
            W1[unit, feature] = next(numbers)
    b1 = np.array([next(numbers) for _ in splits])
    if soft.connectivity == "full":
        W2[:] = np.array([next(numbers) for _ in range(W2.size)]).reshape(W2.shape)
    else:
        for unit, k in enumerate(splits):
            tree = np.searchsorted(e.first_split, k, side="right") - 1
            for leaf in range(e.begin[k], e.end[k]):
                W2[leaf0[tree] + leaf, unit] = next(numbers)
    b2 = np.array([next(numbers) for _ in range(n_leaves)])
    w_out = np.array([[next(numbers) for _ in range(e.n_outputs)] for _ in range(n_leaves)])
    offset = [np.array([next(numbers) for _ in range(e.n_outputs)]) for _ in trees]
    u = np.tanh(contrast1 * (np.nan_to_num(x) @ W1.T + b1))
    for unit, k in enumerate(splits):
        u[np.isnan(x[:, e.feature[k]]), unit] = -1 if e.missing_left[k] else 1
    active = np.tanh(contrast2 * (u @ W2.T + b2)) + 1
    ends = [*leaf0.values(), n_leaves]
    scores = [active[:, a:b] @ w_out[a:b] + own for a, b, own in zip(ends[:-1], ends[1:], offset, strict=True)]
    if e.classes is not None and e.link == "identity":
        powers = [np.exp(score - score.max(axis=1, keepdims=True)) for score in scores]
        scores = [power / power.sum(axis=1, keepdims=True) / len(trees) for power in powers]
    return sum(scores)


# --- random models ---------------------------------------------------------------------------------------------------

KINDS = ("mean", "several", "sum", "log", "forest", "logit", "softmax")
LABELS = {"int": np.array([3, 5, 9]), "str": np.array(["ash", "elm", "oak"]), "bool": np.array([False, True])}


def random_ensemble(
    rng, kind="mean", sizes=(5, 1, 4), n_features=3, compare_dtype="float32", labels="int", groups=None
):
    """Trees of random shape with these numbers of leaves; many thresholds are not float32 numbers, some are +inf."""

    def middles(begin, end):
        if end - begin == 1:
            return []
        middle = int(rng.integers(begin + 1, end))
        return [middle, *middles(begin, middle), *middles(middle, end)]

    n_leaves, n_splits = sum(sizes), sum(sizes) - len(sizes)
    n_outputs = {"several": 3, "forest": 2 if labels == "bool" else 3, "softmax": 2 if labels == "bool" else 3}.get(
        kind, 1
    )
    threshold = np.round(rng.normal(size=n_splits), 1)
    threshold[rng.random(n_splits) < 0.05] = np.inf
    classes = LABELS[labels][: 2 if kind == "logit" else n_outputs] if kind in ("forest", "logit", "softmax") else None
    value = rng.normal(size=(n_leaves, n_outputs))
    if kind in ("mean", "several", "sum"):
        value *= 10.0 ** rng.integers(-2, 3)
    elif kind == "log":
        value *= 0.1
    mean = kind in ("mean", "several", "forest")
    return TreeEnsemble(
        feature=rng.integers(n_features, size=n_splits),
        threshold=threshold,
        missing_left=rng.random(n_splits) < 0.5,
        middle=[middle for size in sizes for middle in middles(0, size)],
        value=rng.dirichlet(np.ones(n_outputs), size=n_leaves) if kind == "forest" else value,
        weight=rng.integers(1, 9, size=n_leaves),
        first_split=np.cumsum([0, *(size - 1 for size in sizes)]),
        first_leaf=np.cumsum([0, *sizes]),
        n_features=n_features,
        aggregation="mean" if mean else "sum",
        base_score=None if mean else rng.normal(size=n_outputs),
        link=kind if kind in ("log", "logit", "softmax") else "identity",
        compare_dtype=compare_dtype,
        classes=classes,
        groups=groups,
    )


def soften(rng, network, training, connectivity, contrast=(3.0, 1.0), hard=0.3, noise=0.1):
    """The network in scaled units, at other weights than those of its trees, with some subnetworks hard."""
    e = network.ensemble
    units = {"center": rng.normal(size=e.n_features), "scale": rng.uniform(0.5, 2, size=e.n_features)}
    units |= {"low": rng.uniform(-2, 0, size=e.n_features), "high": rng.uniform(0, 2, size=e.n_features)}
    if e.classes is None:
        units |= {"output_center": e.value.mean(axis=0), "output_scale": 1e-3 + e.value.std(axis=0)}
    soft = network.soften(contrast, training=training, connectivity=connectivity, **units)
    start = soft.soft.parameters
    noisy = (start + rng.normal(scale=noise, size=len(start))).astype(np.float32)
    far = np.abs(start) > 1e30  # the offset of a threshold of +inf
    return soft.with_parameters(np.where(far, start, noisy), rng.random(soft.n_subnetworks) < hard)


def random_rows(rng, ensemble, n):
    """Rows with many values on a threshold or next to it, and some missing values."""
    X = rng.normal(size=(n, ensemble.n_features))
    finite = ensemble.threshold[np.isfinite(ensemble.threshold)]
    if len(finite):
        on = rng.choice(finite, size=X.shape).astype(ensemble.compare_dtype)
        near = np.nextafter(on, rng.choice([-9, 9], size=X.shape).astype(on.dtype))
        X = np.choose(rng.integers(4, size=X.shape), [X, X, on, near])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@st.composite
def networks(draw):
    """Draw a small network of any kind."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(KINDS))
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    labels = draw(st.sampled_from(sorted(LABELS)))
    compare_dtype = draw(st.sampled_from(["float32", "float64"]))
    cuts = draw(st.sets(st.integers(1, len(sizes))))
    groups = [0, *sorted(cuts | {len(sizes)})]  # any partition of the trees
    n_features = draw(st.integers(1, 4))
    network = ForestNetwork(random_ensemble(rng, kind, sizes, n_features, compare_dtype, labels, groups))
    form = draw(st.sampled_from(["hard", "soft", "blended"]))
    if form == "hard":
        return network
    training = draw(st.sampled_from(["independent", "joint"] if network.ensemble.aggregation == "mean" else ["joint"]))
    contrast = draw(st.sampled_from([(1.0, 1.0), (3.0, 1.0), (10.0, 2.5), (100.0, 1.0)]))
    connectivity = draw(st.sampled_from(["sparse", "full"]))
    return soften(rng, network, training, connectivity, contrast, hard=0.5 if form == "blended" else 0.0)


def prediction(network, X):
    """Return the predictions (rows, outputs) or probabilities (rows, classes) of the package."""
    return network.predict(X).reshape(len(X), -1) if network.classes is None else network.predict_proba(X)


def spread(network, predicted):
    """Return the scale of a target, (outputs,), to compare errors with, given predictions of the network.

    A float32 number has 7 digits: a target that varies by less than a tenth of its size is compared with its size.
    """
    e = network.ensemble
    if e.classes is not None:
        return 1.0
    trees = 1 if e.aggregation == "mean" else np.sqrt(e.n_trees)
    return np.maximum(0.1 * np.abs(predicted).max(axis=0), 0 if e.link == "log" else trees * e.value.std(axis=0))


def fitted(X, y, classifier=False, **parameters):
    """A small estimator of which some trees are hard and some are networks, whatever the guard decides."""
    forest = (RandomForestClassifier if classifier else RandomForestRegressor)(4, max_leaf_nodes=8, random_state=0)
    kind = NeuralForestClassifier if classifier else NeuralForestRegressor
    settings = {"contrast": (3, 1), "max_epochs": 2, "random_state": 0, **parameters}
    model = kind(forest, **settings).fit(X, y)
    network = model.network_
    model.network_ = network.with_parameters(network.soft.parameters, np.arange(network.n_subnetworks) % 3 == 1)
    return model
