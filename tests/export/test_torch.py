"""Torch modules: they predict as the network, their gradients are the network's own, and weights come back."""

import copy
import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor

import export_twins as twins
import neuralforest as nf
from neuralforest.exceptions import InvalidParameterError, NotFittedError
from neuralforest.training import Settings, SubnetworkRows, TrainingData
from neuralforest.training.losses import resolve_loss
from neuralforest.training.state import State
from neuralforest.training.trainer import trainer

torch = pytest.importorskip("torch")

from neuralforest.export.torch import ForestModule, from_torch, to_torch  # noqa: E402

torch.set_num_threads(1)
MODES = [(training, connectivity) for training in ("independent", "joint") for connectivity in ("sparse", "full")]
FAST = settings(max_examples=60, deadline=None, derandomize=True)


def run(module, X):
    with torch.no_grad():
        return module(torch.tensor(X)).numpy()


def same_bits(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def soft_network(seed=0, kind="mean", training="independent", connectivity="sparse", hard=0.0, **options):
    rng = np.random.default_rng(seed)
    network = nf.ForestNetwork(twins.random_ensemble(rng, kind, **options))
    return twins.soften(rng, network, training, connectivity, hard=hard)


# --- the same function -----------------------------------------------------------------------------------------------


@FAST
@given(twins.networks(), st.integers(0, 99))
def test_a_module_predicts_as_predict(network, seed):
    X = twins.random_rows(np.random.default_rng(seed), network.ensemble, 40)
    expected, exact = twins.prediction(network, X), twins.predict(network, X, rounded=True)
    unit = np.abs(expected) + twins.spread(network, expected)
    steep = 1.0 if network.soft is None else max(1.0, np.prod(network.soft.contrast) / 3)  # magnifies any rounding
    for rows in (slice(None), slice(1)):
        predicted = run(to_torch(network), X[rows])
        assert predicted.shape == expected[rows].shape
        assert (np.abs(predicted - expected[rows]) <= 1e-6 * steep * unit[rows]).all()
        assert (np.abs(predicted - exact[rows]) <= 1e-6 * unit[rows]).all()


@FAST
@given(twins.networks(), st.integers(0, 99))
def test_a_module_in_float64_predicts_as_the_weights(network, seed):
    X = twins.random_rows(np.random.default_rng(seed), network.ensemble, 40).astype(network.ensemble.compare_dtype)
    expected = twins.predict(network, X)
    error = np.abs(run(to_torch(network).double(), X.astype(np.float64)) - expected)
    assert (error <= 1e-12 * twins.spread(network, expected)).all()


@pytest.mark.parametrize(("training", "connectivity"), MODES)
@pytest.mark.parametrize("classifier", [False, True])
def test_ten_thousand_rows_of_an_estimator(training, connectivity, classifier):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.stack([X[:, 0] * X[:, 1], np.full(200, 0.1)], axis=1)
    target = np.where(y[:, 0] > 0, "yes", "no") if classifier else y
    model = twins.fitted(X, target, classifier, training=training, connectivity=connectivity)
    many = rng.normal(size=(10_000, 4))
    expected = model.predict_proba(many) if classifier else model.predict(many)
    assert np.abs(run(to_torch(model), many) - expected).max() < 1e-6
    model.network_ = from_torch(to_torch(model))
    assert same_bits(model.predict_proba(many) if classifier else model.predict(many), expected)


@FAST
@given(twins.networks())
def test_weights_come_back_bit_for_bit(network):
    back = from_torch(to_torch(network))
    assert back.ensemble is network.ensemble
    if network.soft is None:
        assert back.soft is None
    else:
        assert same_bits(back.soft.parameters, network.soft.parameters)
        assert same_bits(back.hard, network.hard)


@FAST
@given(twins.networks(), st.integers(0, 99))
def test_trained_weights_come_back_as_the_same_function(network, seed):
    module = to_torch(network)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in module.parameters():
            weights += 0.1 * torch.randn(weights.shape, generator=generator) * (weights.abs() < 1e30)
    X = twins.random_rows(np.random.default_rng(seed), network.ensemble, 40).astype(np.float32)
    exact = twins.predict(from_torch(module), X)
    error = np.abs(run(module.double(), X) - exact)
    assert (error <= 1e-6 * (np.abs(exact) + twins.spread(network, exact))).all()  # offsets are rounded on the way back


# --- gradients -------------------------------------------------------------------------------------------------------


def own_gradient(network, X, y):
    """The gradient of the mean loss over all rows, of every subnetwork alone, from a training step of the package."""
    rows = SubnetworkRows.shared(np.arange(len(X)), np.ones(len(X)), network.n_subnetworks)
    plan = Settings(max_epochs=1, batch_size=len(X))
    state = State(network, plan)
    data = TrainingData(X, y, rows, rows)
    with trainer(network, data, plan, resolve_loss("auto", None, network.ensemble), 1) as work:
        work.train_epoch(state)
    return state.first_moment / (1 - plan.betas[0])


def loss_of(module, X, y):
    """The same loss in torch, in the units of training."""
    soft, e = module.network.soft, module.network.ensemble
    out, y = module.output(torch.tensor(X)), torch.tensor(y)
    if e.classes is None:
        error = (out - y) / torch.tensor(soft.output_scale)
        return (error**2).mean()
    if e.link == "identity":
        return -(y * out.log()).sum(dim=1).mean()
    if e.link == "softmax":
        return torch.nn.functional.cross_entropy(out, y)
    return torch.nn.functional.binary_cross_entropy_with_logits(out, y)


def torch_gradient(network, X, y):
    """The gradients of a module of one subnetwork, in the order of the network's parameters."""
    module = to_torch(network)
    loss_of(module, X, y).backward()
    gradient = np.zeros_like(network.soft.parameters)
    soft = module.soft
    for name in ("w1", "b1", "w2", "b2", "w_out"):
        gradient[soft.positions[name]] = getattr(soft, name).grad.numpy().ravel()
    of_offsets = np.zeros((network.ensemble.n_trees, network.ensemble.n_outputs), np.float32)
    of_offsets[soft.trained] = soft.b_out.grad.numpy()
    gradient[soft.positions["b_out"]] = of_offsets.ravel()
    return gradient


def targets(rng, e, n):
    if e.classes is None:
        return e.value.mean(axis=0) + e.value.std() * rng.normal(size=(n, e.n_outputs))
    code = rng.integers(len(e.classes), size=n)
    return (code[:, None] if e.link == "logit" else np.eye(e.n_outputs)[code]).astype(np.float64)


@pytest.mark.parametrize(("training", "connectivity"), MODES)
@pytest.mark.parametrize("kind", ["mean", "several", "sum", "forest", "logit", "softmax"])
def test_gradients_are_those_of_the_package(training, connectivity, kind):
    rng = np.random.default_rng(1)
    sum_up = kind in ("sum", "logit", "softmax")
    if sum_up and training == "independent":
        training, sizes = "joint", (6,)
    else:
        sizes = (6,) if training == "independent" else (5, 1, 4)  # one subnetwork
    network = soft_network(2, kind, training, connectivity, sizes=sizes)
    X = twins.random_rows(rng, network.ensemble, 64).astype(np.float32)
    y = targets(rng, network.ensemble, len(X))
    ours, theirs = own_gradient(network, X, y), torch_gradient(network, X, y)
    assert np.abs(ours).max() > 1e-3
    np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=2e-6 * np.abs(ours).max())


def test_trees_of_an_independent_network_get_their_own_gradients():
    rng = np.random.default_rng(1)
    network = soft_network(3, "mean", sizes=(5, 3, 6))
    X = twins.random_rows(rng, network.ensemble, 50).astype(np.float32)
    y = targets(rng, network.ensemble, len(X))
    ours = own_gradient(network, X, y)
    first, one = network.layout.first_parameter, {"hard": np.zeros(1, np.bool_), "first_tree": np.array([0, 1])}
    for tree in range(3):
        own = slice(first[tree], first[tree + 1])
        soft = replace(network.soft, parameters=network.soft.parameters[own].copy(), **one)
        theirs = torch_gradient(nf.ForestNetwork(network.ensemble[tree : tree + 1], soft), X, y)
        np.testing.assert_allclose(theirs, ours[own], rtol=1e-4, atol=2e-6 * np.abs(ours).max())


@pytest.mark.parametrize(("training", "connectivity"), MODES)
@pytest.mark.parametrize("kind", ["several", "forest"])
def test_gradients_match_finite_differences(training, connectivity, kind):
    network = soft_network(4, kind, training, connectivity, hard=0.3, sizes=(4, 3, 1))
    module = to_torch(network).double()
    x = torch.tensor(np.random.default_rng(0).normal(size=(3, 3)), requires_grad=True)
    names = [name for name, weights in module.named_parameters() if weights.numel()]
    weights = [module.get_parameter(name).detach().clone().requires_grad_() for name in names]

    def function(x, *weights):
        return torch.func.functional_call(module, dict(zip(names, weights, strict=True)), (x,))

    assert torch.autograd.gradcheck(function, (x, *weights), eps=1e-6, atol=1e-6)


def test_missing_values_leave_gradients_finite():
    network = soft_network(5, sizes=(6, 5))
    module = to_torch(network)
    x = torch.tensor([[np.nan, 1.0, np.nan], [0.3, np.nan, 2.0]], requires_grad=True)
    module(x).sum().backward()
    assert all(weights.grad.isfinite().all() for weights in module.parameters())
    assert (x.grad[x.isnan()] == 0).all()
    assert x.grad.isfinite().all()


# --- a module among others -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("training", "connectivity"), MODES)
def test_weights_exist_for_the_connections_of_the_network_and_no_others(training, connectivity):
    network = soft_network(6, "mean", training, connectivity, sizes=(7, 1, 5))
    module = to_torch(network)
    assert sum(weights.numel() for weights in module.parameters()) == network.n_parameters
    assert all(weights.dtype == torch.float32 for weights in module.parameters())


def test_hard_trees_have_no_weights():
    network = soft_network(7, sizes=(7, 5))
    module = to_torch(network.with_parameters(network.soft.parameters, np.array([True, False])))
    first = network.layout.first_parameter
    assert sum(weights.numel() for weights in module.parameters()) == first[2] - first[1]
    hard = to_torch(network.with_parameters(network.soft.parameters, np.array([True, True])))
    assert list(hard.parameters()) == []


def test_training_in_torch_reduces_the_error():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3)).astype(np.float32)
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    forest = RandomForestRegressor(5, max_leaf_nodes=8, random_state=0).fit(X, y)
    network = nf.convert(forest).soften((3, 1), scale=X.std(axis=0))
    layer = to_torch(network)
    bigger = torch.nn.Sequential(torch.nn.BatchNorm1d(3), layer, torch.nn.Linear(1, 1))
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.01)
    x, target = torch.tensor(X), torch.tensor(y[:, None])
    for _ in range(60):
        optimiser.zero_grad()
        ((layer(x) - target) ** 2).mean().backward()
        optimiser.step()
    assert bigger(x).shape == (300, 1)
    before, after = (np.mean((net.predict(X) - y) ** 2) for net in (network, from_torch(layer)))
    assert after < 0.5 * before
    assert after < np.mean((forest.predict(X) - y) ** 2)


@pytest.mark.parametrize(("training", "connectivity"), MODES)
def test_a_module_can_be_exported_for_any_number_of_rows(training, connectivity):
    network = soft_network(8, "forest", training, connectivity, hard=0.5, sizes=(5, 1, 4))
    module = to_torch(network)
    X = twins.random_rows(np.random.default_rng(0), network.ensemble, 30).astype(np.float32)
    rows = {"x": {0: torch.export.Dim("rows", min=1)}}
    program = torch.export.export(module, (torch.tensor(X[:5]),), dynamic_shapes=rows)
    for part in (X, X[:1]):
        np.testing.assert_allclose(program.module()(torch.tensor(part)).detach().numpy(), run(module, part), rtol=1e-6)


def test_a_module_can_be_copied_saved_and_moved():
    network = soft_network(9, "mean", hard=0.3, sizes=(5, 4, 3))
    X = twins.random_rows(np.random.default_rng(0), network.ensemble, 20).astype(np.float32)
    module = to_torch(network)
    with torch.no_grad():
        module.soft.w_out += 0.1
    expected = run(module, X)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    twin = to_torch(network)
    twin.load_state_dict(torch.load(file, weights_only=True))
    for other in (twin, copy.deepcopy(module), module.to("cpu")):
        assert same_bits(run(other, X), expected)
    np.testing.assert_allclose(run(module.double().float(), X), expected, atol=1e-6)  # scales are now in float32
    assert same_bits(from_torch(twin).soft.parameters, from_torch(module).soft.parameters)
    assert all(tensor.device.type == "meta" for tensor in module.to("meta").state_dict().values())


def test_other_modules_are_refused():
    with pytest.raises(InvalidParameterError, match="to_torch"):
        from_torch(torch.nn.Linear(2, 2))
    with pytest.raises(NotFittedError, match="call fit"):
        to_torch(nf.NeuralForestClassifier())
    module = to_torch(soft_network(0))
    assert isinstance(module, ForestModule)
    with torch.no_grad():
        module.soft.b1[0] = torch.nan
    with pytest.raises(InvalidParameterError, match="finite"):
        from_torch(module)
