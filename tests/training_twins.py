"""A slow twin of soft networks, and small cases to compare it with the package on.

The twin has dense matrices, one formula for NumPy (float64, for finite differences) and torch (for autograd), and a
plain torch training loop. It finds a subnetwork's weights in the flat vector through index tables built by loops
over the trees, and shares nothing with the kernels but the shuffles. Its vectors hold the paper's b_out, where the
package stores b_out - sum(w_out).
"""

from dataclasses import replace
from itertools import count

import numpy as np
import torch
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf
from neuralforest._kernels.network.losses import LOG_LOGISTIC, LOG_PROBABILITY
from neuralforest._kernels.network.shuffle import shuffle
from neuralforest.ensemble import TreeEnsemble
from neuralforest.network import ForestNetwork
from neuralforest.selection import train_guarded
from neuralforest.training import Settings, SubnetworkRows, TrainingData, resolve_loss
from neuralforest.training.state import State
from neuralforest.training.trainer import trainer

torch.set_num_threads(1)

MODES = [(training, connectivity) for training in ("independent", "joint") for connectivity in ("sparse", "full")]

# --- cases -----------------------------------------------------------------------------------------------------------


def random_ensemble(sizes=(5, 1, 4), kind="mean", n_outputs=1, n_features=3, seed=0, categories=None, **attributes):
    """Trees of random shape with these numbers of leaves.

    `categories` gives the number of categories of some features, whose splits test them: some splits know fewer.
    `kind` is "mean" or "sum" (regression), "forest" (averaged probabilities), "logit" or "softmax" (boosted classes).
    """
    rng = np.random.default_rng(seed)

    def middles(begin, end):
        if end - begin == 1:
            return []
        middle = int(rng.integers(begin + 1, end))
        return [middle, *middles(begin, middle), *middles(middle, end)]

    n_leaves, n_splits = sum(sizes), sum(sizes) - len(sizes)
    value = rng.normal(size=(n_leaves, n_outputs))
    classes = {"forest": np.arange(n_outputs), "logit": np.arange(2), "softmax": np.arange(n_outputs)}.get(kind)
    trees = TreeEnsemble(
        feature=rng.integers(n_features, size=n_splits),
        threshold=rng.normal(size=n_splits) / 2,
        missing_left=rng.random(n_splits) < 0.5,
        middle=[middle for size in sizes for middle in middles(0, size)],
        value=rng.dirichlet(np.ones(n_outputs), size=n_leaves) if kind == "forest" else value,
        weight=rng.integers(1, 9, size=n_leaves),
        first_split=np.cumsum([0, *(size - 1 for size in sizes)]),
        first_leaf=np.cumsum([0, *sizes]),
        n_features=n_features,
        aggregation="mean" if kind in ("mean", "forest") else "sum",
        link=kind if kind in ("logit", "softmax") else "identity",
        base_score=rng.normal(size=n_outputs) if kind not in ("mean", "forest") else None,
        classes=classes,
        **attributes,
    )
    return with_categories(trees, categories, rng) if categories else trees


def with_categories(ensemble, categories, rng):
    """Return the ensemble with random sets of categories at the splits of some features."""
    most = [categories.get(int(feature), 0) for feature in ensemble.feature]
    lists = [rng.random(rng.integers(2, n + 2) if n else 0) < 0.5 for n in most]
    return replace(
        ensemble,
        threshold=np.where(most, 0.0, ensemble.threshold),
        first_category=np.cumsum([0, *map(len, lists)]),
        category_left=np.concatenate([np.zeros(0, bool), *lists]),
    )


def category_sizes(ensemble):
    """Return the longest list of categories of each feature; 0 for numbers."""
    sizes = [0] * ensemble.n_features
    for split, feature in enumerate(ensemble.feature):
        sizes[feature] = max(sizes[feature], ensemble.first_category[split + 1] - ensemble.first_category[split])
    return sizes


def random_rows(ensemble, n, seed=1, missing=0.0):
    """X and targets as `TrainingData` takes them: one column an output, of 0 and 1 for classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, ensemble.n_features)).astype(np.float32)
    for feature, size in enumerate(category_sizes(ensemble)):
        if size:
            X[:, feature] = rng.integers(-1, size + 2, size=n)  # categories, and some that no split knows
    X[rng.random(X.shape) < missing] = np.nan
    if ensemble.classes is None:
        return X, np.nan_to_num(X[:, :1]) + rng.normal(size=(n, ensemble.n_outputs))
    code = rng.integers(len(ensemble.classes), size=n)
    y = code[:, None] if ensemble.link == "logit" else np.eye(ensemble.n_outputs)[code]
    return X, y.astype(np.float64)


def random_data(network, n=60, n_validation=20, seed=1, missing=0.0, weighted=False):
    """Rows for every subnetwork: the last ones are for validation."""
    X, y = random_rows(network.ensemble, n + n_validation, seed, missing)
    rng = np.random.default_rng(seed + 1)
    weight = rng.uniform(0.2, 3.0, size=len(X)) if weighted else np.ones(len(X))
    parts = np.split(np.arange(len(X)), [n])
    return TrainingData(X, y, *(SubnetworkRows.shared(part, weight[part], network.n_subnetworks) for part in parts))


def nothing_but_noise(training="independent", connectivity="sparse", n=80):
    """Return a network that can overfit its training rows, and rows without any signal."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(2 * n, 4)), random.normal(size=2 * n)
    forest = RandomForestRegressor(3, max_leaf_nodes=30, bootstrap=False, max_features=1, random_state=0)
    network = nf.convert(forest.fit(X[:n], y[:n])).soften((3, 1), training=training, connectivity=connectivity)
    parts = np.arange(n), np.arange(n, 2 * n)
    rows = [SubnetworkRows.shared(part, np.ones(n), network.n_subnetworks) for part in parts]
    return network, TrainingData(network.check_X(X), y[:, None], *rows)


def disturbed(network, size=0.3, seed=3):
    """The network at other weights than those of its trees."""
    start = network.soft.parameters
    noise = np.random.default_rng(seed).normal(scale=size, size=len(start))
    return network.with_parameters((start + noise).astype(np.float32), network.hard)


def soft_network(training="independent", connectivity="sparse", contrast=(2.0, 1.0), **case):
    return ForestNetwork(random_ensemble(**case)).soften(contrast, training=training, connectivity=connectivity)


def train(network, data, settings, loss="auto", loss_parameter=None, **options):
    """Train a network with the guard; the loss is given by its name."""
    return train_guarded(network, data, settings, resolve_loss(loss, loss_parameter, network.ensemble), **options)


def run_epochs(network, data, settings, *, loss="auto", loss_parameter=None, n_jobs=1):
    """Run all epochs through the package's own trainer, without validation and guard; return the state at the end."""
    state = State(network, settings)
    with trainer(network, data, settings, resolve_loss(loss, loss_parameter, network.ensemble), n_jobs) as work:
        while state.epoch < settings.max_epochs:
            state.training_loss[state.epoch] = work.train_epoch(state)
            state.epoch += 1
    return state


def one_step_gradient(network, data, **options):
    """The gradient of all training rows at the network's weights, as the package's own step of Adam uses it."""
    settings = Settings(max_epochs=1, batch_size=len(data.fit.row), betas=(0.5, 0.9))
    state = run_epochs(network, data, settings, **options)
    assert (state.steps == 1).all()
    return state.first_moment / 0.5, state.training_loss[0]


# --- the twin --------------------------------------------------------------------------------------------------------


class Subnetwork:
    """One subnetwork of a soft network: where its weights stand, and what they compute."""

    def __init__(self, network, number=0):
        e, soft = network.ensemble, network.soft
        trees = range(soft.first_tree[number], soft.first_tree[number + 1])
        splits = [(t, k) for t in trees for k in range(e.first_split[t], e.first_split[t + 1])]
        self.network, self.number = network, number
        self.softmax = e.classes is not None and e.link == "identity"
        sizes = [max(size, 1) for size in category_sizes(e)]
        self.columns = [[sum(sizes[:f]) + place for place in range(size)] for f, size in enumerate(sizes)]
        self.feature = np.array([self.columns[e.feature[k]][0] for _, k in splits], int)  # or the first of its columns
        self.missing = np.array([-1.0 if e.missing_left[k] else 1.0 for _, k in splits])
        first = e.first_leaf[trees[0]]
        self.leaves = [np.arange(e.first_leaf[t], e.first_leaf[t + 1]) - first for t in trees]
        self._number(e, splits, sum(map(len, self.leaves)), first, soft.connectivity == "full")
        start = sum(Subnetwork(network, b).n for b in range(number))
        self.own = slice(start, start + self.n)

    def _number(self, e, splits, n_leaves, first, full):
        """Number the parameters [w1 | b1 | w2 | b2 | w_out | b_out]; -1 stands where there is no connection."""
        numbers = count()
        n_columns = sum(map(len, self.columns))
        self.W1, self.W2 = np.full((len(splits), n_columns), -1), np.full((n_leaves, len(splits)), -1)
        for unit, (_, k) in enumerate(splits):
            for column in range(n_columns) if full else self.columns[e.feature[k]]:
                self.W1[unit, column] = next(numbers)
        self.b1 = np.array([next(numbers) for _ in splits], int)
        if full:
            for leaf in range(n_leaves):
                for unit in range(len(splits)):
                    self.W2[leaf, unit] = next(numbers)
        else:
            for unit, (t, k) in enumerate(splits):
                for leaf in range(e.begin[k], e.end[k]):
                    self.W2[e.first_leaf[t] - first + leaf, unit] = next(numbers)
        self.b2 = np.array([next(numbers) for _ in range(n_leaves)])
        self.W_out = np.array([[next(numbers) for _ in range(e.n_outputs)] for _ in range(n_leaves)])
        self.b_out = np.array([[next(numbers) for _ in range(e.n_outputs)] for _ in self.leaves])
        self.n = next(numbers)

    def expand(self, X):
        """Return rows with a column for every category, and NaN in the first of them where it is missing."""
        out = np.zeros((len(X), sum(map(len, self.columns))))
        for i, row in enumerate(X):
            for x, (first, *others) in zip(row, self.columns, strict=True):
                if not others or np.isnan(x):
                    out[i, first] = x
                else:
                    out[i, first + int(x) if 0 <= x < len(others) else others[-1]] = 1.0
        return out

    @property
    def groups(self):
        """The parameters of the two hidden layers, of W_out, of b_out, and those that are never trained.

        Trees whose scores are added up share one offset, that of the first tree.
        """
        trained = len(self.b_out) if self.softmax else 1
        return [
            np.concatenate([self.W1[self.W1 >= 0], self.b1]),
            np.concatenate([self.W2[self.W2 >= 0], self.b2]),
            self.W_out.ravel(),
            self.b_out[:trained].ravel(),
            self.b_out[trained:].ravel(),
        ]

    def paper(self, parameters):
        """Return the subnetwork's own parameters in float64, with the paper's b_out."""
        theta = np.array(parameters[self.own], np.float64)
        for tree, leaves in enumerate(self.leaves):
            theta[self.b_out[tree]] += theta[self.W_out[leaves]].sum(axis=0)
        return theta

    def predict(self, theta, x, xp=np):
        """Return predictions (rows, outputs) of scaled rows x for weights `theta`, both of NumPy or both of torch."""
        first, second = self.network.soft.contrast
        with_zero = xp.concatenate([theta, 0 * theta[:1]])  # -1, no connection, finds the zero
        missing = xp.asarray(self.missing, dtype=theta.dtype)
        u = xp.tanh(first * (xp.nan_to_num(x) @ with_zero[self.W1].T + theta[self.b1]))
        u = xp.where(xp.isnan(x[:, self.feature]), missing, u)
        v = xp.tanh(second * (u @ with_zero[self.W2].T + theta[self.b2]))
        scores = [v[:, own] @ theta[self.W_out[own]] + theta[self.b_out[t]] for t, own in enumerate(self.leaves)]
        if self.softmax:
            powers = [xp.exp(score) for score in scores]
            scores = [power / power.sum(1)[:, None] / len(scores) for power in powers]
        return sum(scores)

    def loss(self, theta, x, y, weight, loss, xp=np):
        """Return the sum of the weighted losses, divided by the number of rows."""
        return (weight * row_losses(self.predict(theta, x, xp), y, loss, xp)).sum() / len(x)

    def rows(self, data):
        """Return x, y and weights of the subnetwork's training rows as the network takes them."""
        soft, (row, weight) = self.network.soft, data.fit.of(self.number)
        x = ((self.expand(data.X[row].astype(np.float64)) - soft.center) / soft.scale).astype(np.float32)
        y = data.y[row]
        if self.network.classes is None:
            y = (y - soft.output_center) / soft.output_scale
        return x, y.astype(np.float32), weight


def row_losses(prediction, target, loss, xp=np):
    """Return the loss of every row, by the textbook's formula."""
    error = prediction - target
    if loss.name == "squared_error":
        return (error**2).mean(1)
    if loss.name == "huber":
        size, k = xp.abs(error), loss.parameter
        return xp.where(size <= k, size**2, 2 * k * size - k**2).mean(1)
    if loss.name == "quantile":
        return xp.where(error < 0, -loss.parameter * error, (1 - loss.parameter) * error).mean(1)
    if loss.code == LOG_PROBABILITY:
        return -(target * xp.log(prediction)).sum(1)
    if loss.code == LOG_LOGISTIC:
        return (xp.logaddexp(0 * prediction, prediction) - target * prediction)[:, 0]
    return xp.log(xp.exp(prediction).sum(1)) - (target * prediction).sum(1)


def finite_differences(function, theta, step=1e-5):
    """Return the gradient of a function of a float64 vector, by central differences."""
    gradient = np.empty_like(theta)
    for i, value in enumerate(theta):
        ends = []
        for sign in (1, -1):
            theta[i] = value + sign * step
            ends.append(function(theta))
        theta[i] = value
        gradient[i] = (ends[0] - ends[1]) / (2 * step)
    return gradient


def autograd(subnetwork, theta, rows, loss):
    """Return loss and gradient by torch, in float64."""
    x, y, weight = (torch.tensor(part, dtype=torch.float64) for part in rows)
    theta = torch.tensor(theta, dtype=torch.float64, requires_grad=True)
    value = subnetwork.loss(theta, x, y, weight, loss, torch)
    value.backward()
    return value.item(), theta.grad.numpy()


def torch_epochs(subnetwork, data, settings, loss, dtype=torch.float32):
    """Train one subnetwork by a plain torch loop; return its parameters with the paper's b_out."""
    x, y, weight = (torch.tensor(part, dtype=dtype) for part in subnetwork.rows(data))
    initial = subnetwork.paper(subnetwork.network.soft.parameters)
    start = [torch.tensor(initial[group], dtype=dtype) for group in subnetwork.groups]
    parts = [part.clone().requires_grad_() for part in start]
    back = np.argsort(np.concatenate(subnetwork.groups))
    rates = np.broadcast_to(settings.learning_rate, 3)[[0, 1, 2, 2]]
    optimiser = torch.optim.Adam([{"params": [part]} for part in parts[:4]], betas=settings.betas, eps=settings.epsilon)
    order = np.empty(len(x), np.int64)
    for epoch in range(settings.max_epochs):
        shuffle(order, settings.seed, epoch, subnetwork.number)
        before, after = (settings.factors_of(epoch)[end] for end in (0, 1))
        for first in range(0, len(x), settings.batch_size):
            batch = order[first : first + settings.batch_size]
            progress = min(first + settings.batch_size, len(x)) / len(x)
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * (before + (after - before) * progress)
            optimiser.zero_grad()
            subnetwork.loss(torch.cat(parts)[back], x[batch], y[batch], weight[batch], loss, torch).backward()
            with torch.no_grad():
                for i in range(3):
                    pull = optimiser.param_groups[i]["lr"] * settings.weight_decay
                    parts[i] -= pull * (parts[i] - start[i])
            optimiser.step()
    return torch.cat(parts)[back].detach().numpy().astype(np.float64)
