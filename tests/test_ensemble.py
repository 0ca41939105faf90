import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import training_twins
import twins
from neuralforest.ensemble import CategoryOrder, TreeEnsemble, TreeNodes, concatenated
from neuralforest.exceptions import InvalidEnsembleError
from neuralforest.network import ForestNetwork

# Two trees: five leaves with the splits (0..4 | (0 | (1 | 2)) , (3 | 4)), and a stump.
TWO_TREES = {
    "feature": [0, 1, 0, 1, 0],
    "threshold": [0.0, -1.0, -2.0, 1.0, np.inf],
    "missing_left": [True, False, True, False, True],
    "middle": [3, 1, 2, 4, 1],
    "value": np.arange(7.0)[:, None],
    "weight": np.ones(7),
    "first_split": [0, 4, 5],
    "first_leaf": [0, 5, 7],
    "n_features": 2,
}


def build(**changes):
    return TreeEnsemble(**TWO_TREES | changes)


def message(**changes):
    with pytest.raises(InvalidEnsembleError) as caught:
        build(**changes)
    return str(caught.value)


def random_tree(rng, n_leaves, n_outputs=1, n_features=3):
    """A tree with child pointers: the nodes but the root in random order, and two slots that nothing points to."""
    left, right, leaves = [-1], [-1], [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(rng.integers(len(leaves)))
        left[node], right[node] = len(left), len(left) + 1
        leaves += [len(left), len(left) + 1]
        left += [-1, -1]
        right += [-1, -1]
    n = len(left) + 2
    left, right = np.append(left, [-1, -1]), np.append(right, [-1, -1])
    place = np.append(0, 1 + rng.permutation(n - 1))  # where node i goes
    old = np.argsort(place)
    moved = [np.where(child < 0, -1, place[child])[old] for child in (left, right)]
    return TreeNodes(
        *moved,
        feature=rng.integers(n_features, size=n),
        threshold=rng.normal(size=n).round(1),
        missing_left=rng.random(n) < 0.5,
        value=rng.normal(size=(n, n_outputs)),
        weight=rng.random(n),
    )


def leaf_by_pointers(nodes, row):
    node = 0
    while nodes.left[node] >= 0:
        x = np.float32(row[nodes.feature[node]])
        goes_left = nodes.missing_left[node] if np.isnan(x) else x <= nodes.threshold[node]
        node = (nodes.left if goes_left else nodes.right)[node]
    return node


# --- the arrays ------------------------------------------------------------------------------------------------------


def test_every_split_owns_one_run_of_leaves():
    ensemble = build()
    assert ensemble.begin.tolist() == [0, 0, 1, 3, 0]
    assert ensemble.end.tolist() == [5, 3, 3, 5, 2]
    assert np.diff(ensemble.first_connection).tolist() == [5, 3, 2, 2, 2]
    assert ensemble.tree_of_split.tolist() == [0, 0, 0, 0, 1]


def test_the_depth_of_a_leaf_counts_the_splits_above_it():
    assert build().depth.tolist() == [2, 3, 3, 2, 2, 1, 1]
    assert build().depth.sum() == build().first_connection[-1]


def test_sizes_and_text_follow_the_arrays():
    ensemble = build()
    assert (ensemble.n_trees, ensemble.n_splits, ensemble.n_leaves, ensemble.n_outputs) == (2, 5, 7, 1)
    assert repr(ensemble) == "TreeEnsemble(2 trees, 7 leaves, 2 features, 1 output)"
    assert repr(ensemble[1:]) == "TreeEnsemble(1 tree, 2 leaves, 2 features, 1 output)"


def test_arrays_have_fixed_dtypes_and_cannot_be_written():
    mine = np.zeros(7)
    ensemble = build(weight=mine, classes=["yes"], feature_names=["a", "b"])
    assert (ensemble.feature.dtype, ensemble.threshold.dtype, ensemble.value.dtype) == (np.int32, float, float)
    for name in ("feature", "threshold", "missing_left", "middle", "begin", "end", "value", "weight", "classes"):
        assert not getattr(ensemble, name).flags.writeable, name
    assert mine.flags.writeable
    assert ensemble.feature_names == ("a", "b")
    with pytest.raises(FrozenInstanceError):
        ensemble.link = "log"


def test_the_base_score_is_zero_unless_given():
    assert build().base_score.tolist() == [0.0]
    assert build(base_score=[2.5], aggregation="sum").base_score.tolist() == [2.5]


def test_the_base_score_of_a_mean_belongs_into_its_leaves():
    assert "base_score must be 0 for a mean of trees, got [2.5]" in message(base_score=[2.5])


def test_trees_of_one_leaf_need_no_splits():
    lone = TreeEnsemble([], [], [], [], [[1.0], [3.0]], [1, 1], [0, 0, 0], [0, 1, 2], n_features=1)
    assert lone.depth.tolist() == [0, 0]
    assert twins.predict(lone, np.array([[5.0]])).tolist() == [2.0]


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["first_split", "first_leaf"])
@pytest.mark.parametrize("offsets", [[0], [1, 4, 5], [0, 5, 4], [[0, 4, 5]]])
def test_offsets_must_rise_from_zero(name, offsets):
    assert f"{name} must be one rising row of offsets that starts at 0" in message(**{name: offsets})


@pytest.mark.parametrize("first_leaf", [[0, 7], [0, 4, 7], [0, 5, 8]])
def test_a_tree_has_one_leaf_more_than_splits(first_leaf):
    assert "exactly one leaf more than it has splits" in message(first_leaf=first_leaf)


@pytest.mark.parametrize("name", ["feature", "threshold", "missing_left", "middle"])
def test_splits_have_one_entry_each(name):
    assert message(**{name: TWO_TREES[name][1:]}) == f"{name} must have one entry a split, (5,), got shape (4,)"


@pytest.mark.parametrize("value", [np.zeros(7), np.zeros((6, 1)), np.zeros((7, 0)), np.zeros((7, 1, 1)), 3.0])
def test_values_have_one_row_a_leaf(value):
    assert message(value=value).startswith(f"value must have shape (7 leaves, outputs), got {np.shape(value)}")


def test_weights_have_one_entry_a_leaf():
    assert message(weight=np.ones(6)) == "weight must have one entry a leaf, (7,), got (6,)"


def test_base_scores_have_one_entry_an_output():
    assert "base_score must have one entry an output, (1,)" in message(base_score=[1.0, 2.0])


@pytest.mark.parametrize(("split", "middle"), [(0, 0), (0, 5), (1, 3), (2, 1), (3, 3), (3, 5), (4, -1), (4, 2)])
def test_both_children_hold_a_leaf(split, middle):
    wrong = [*TWO_TREES["middle"]]
    wrong[split] = middle
    assert f"so that both children hold a leaf; got {middle} at split {split}" in message(middle=wrong)


@pytest.mark.parametrize("changes", [{"feature": [0, 1, 2, 0, 0]}, {"feature": [0, 1, -2, 0, 0]}, {"n_features": 0}])
def test_features_lie_in_range(changes):
    assert "feature must lie in 0 to n_features - 1" in message(**changes)


@pytest.mark.parametrize("threshold", [np.nan, -np.inf])
def test_thresholds_are_numbers_or_plus_infinity(threshold):
    assert "threshold must be a number or +inf" in message(threshold=[0, 0, threshold, 0, 0])


@pytest.mark.parametrize("name", ["value", "weight", "base_score"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_summed_is_finite(name, bad):
    array = np.zeros({"value": (7, 1), "weight": 7, "base_score": 1}[name])
    array[0] = bad
    assert message(**{name: array}) == f"{name} must be finite, got NaN or infinity"


@pytest.mark.parametrize("name", ["aggregation", "link", "compare_dtype"])
def test_words_are_checked(name):
    assert message(**{name: "median"}).startswith(f"{name} must be one of (")
    assert "got 'median'" in message(**{name: "median"})


@pytest.mark.parametrize(
    ("link", "n_outputs", "n_classes"),
    [("identity", 1, 2), ("identity", 3, 2), ("softmax", 3, 4), ("logit", 1, 1), ("logit", 1, 3), ("probit", 1, 1)],
)
def test_classes_match_the_outputs(link, n_outputs, n_classes):
    text = message(link=link, value=np.zeros((7, n_outputs)), classes=np.arange(n_classes))
    assert f"got {n_classes} for {n_outputs} outputs and the {link} link" in text


@pytest.mark.parametrize(("link", "n_outputs", "n_classes"), [("identity", 1, 1), ("softmax", 3, 3), ("logit", 1, 2)])
def test_classes_that_match_are_kept(link, n_outputs, n_classes):
    classes = np.array(["a", "b", "c"])[:n_classes]
    assert build(link=link, value=np.zeros((7, n_outputs)), classes=classes).classes.tolist() == classes.tolist()


def test_names_match_the_features():
    assert message(feature_names=["a"]) == "feature_names must have 2 entries, got 1"
    assert message(categories=[None]) == "categories must have 2 entries, got 1"


# --- splits by category ----------------------------------------------------------------------------------------------

# the second split of the first tree has the categories 0 and 1, the stump has 0 to 2; both have an entry for others
CATEGORIES = {
    "feature": [1, 0, 1, 1, 0],
    "first_category": [0, 0, 3, 3, 3, 7],
    "category_left": [True, False, False, False, True, False, True],
}


def test_a_split_by_category_sends_each_category_where_its_entry_says():
    ensemble = build(**CATEGORIES)
    assert ensemble.is_categorical.tolist() == [False, True, False, False, True]
    codes = np.array([0, 1, 2, 3, 99, -1, -0.5, 0.9, np.nan])
    assert ensemble.goes_left(4, codes).tolist() == [False, True, False, True, True, True, True, False, True]
    assert ensemble.goes_left(1, codes).tolist() == [True, *5 * [False], False, True, False]
    assert ensemble.goes_left(0, codes).tolist() == [True, *4 * [False], True, True, False, True]  # a threshold of 0


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple),
    st.sampled_from([None, {0: 1}, {1: 6}, {0: 3, 1: 2, 2: 9}]),
    st.integers(0, 10**6),
)
def test_comparisons_of_all_splits_are_those_of_a_plain_loop(sizes, categories, seed):
    ensemble = training_twins.random_ensemble(sizes, seed=seed, categories=categories)
    rng = np.random.default_rng(seed)
    special = np.array([np.nan, -1, -0.5, 0, 0.5, *range(12), 2**31, 1e30, -1e30])
    x = rng.choice(np.append(special, ensemble.threshold), size=(20, ensemble.n_splits)).astype(np.float32)
    expected = [[twins.goes_left(ensemble, split, value) for split, value in enumerate(row)] for row in x]
    np.testing.assert_array_equal(ensemble.goes_left(slice(None), x), np.reshape(expected, x.shape))
    some = np.flatnonzero(rng.random(ensemble.n_splits) < 0.5)
    np.testing.assert_array_equal(ensemble.goes_left(some, x[:, some]), np.reshape(expected, x.shape)[:, some])


def test_without_categories_no_split_tests_one():
    ensemble = build()
    assert not ensemble.is_categorical.any()
    assert ensemble.first_category.tolist() == [0] * 6
    assert (ensemble.category_left.shape, ensemble.categories) == ((0,), None)
    assert np.isnan(ensemble.missing_range).all()


@pytest.mark.parametrize("first", [[0, 3, 7], [1, 1, 3, 3, 3, 7], [0, 0, 3, 3, 3, 3, 7]])
def test_lists_of_categories_have_one_offset_a_split_and_one_more(first):
    text = message(**CATEGORIES | {"first_category": first})
    assert text.startswith("first_category must have one entry a split and one more, got ")


@pytest.mark.parametrize(
    "first",
    [
        [0, 3, 0, 3, 3, 7],
        [0, 0, 3, 3, 3, 6],
        [0, 0, 3, 3, 3, 8],
        [0, 3 * 2**61, -5 * 2**60, 3, 3, 7],  # all differences of int64 are positive
    ],
)
def test_lists_of_categories_rise_to_the_number_of_entries(first):
    text = message(**CATEGORIES | {"first_category": first})
    assert text == "first_category must rise to the number of entries of category_left"


def test_a_list_of_categories_has_an_entry_for_one_and_for_all_others():
    text = message(**CATEGORIES | {"first_category": [0, 0, 1, 1, 1, 7]})
    assert text == "a categorical split must have an entry for a category and one for all others"


@pytest.mark.parametrize("shape", [(2,), (3, 2), (2, 3)])
def test_ranges_of_missing_values_have_two_ends_for_each_feature(shape):
    assert message(missing_range=np.zeros(shape)) == f"missing_range must have shape (2, 2), got {shape}"


def test_numbers_in_the_range_of_missing_values_go_where_missing_values_go():
    ensemble = build(missing_range=[[-0.5, 0.5], [np.nan, np.nan]])
    network = ForestNetwork(ensemble)
    inside, beside = np.array([[-0.5, 0.0], [0.0, 0.0], [0.5, 0.0]]), np.array([[-0.51, 0.0], [0.51, 0.0]])
    missing = inside * [np.nan, 1.0]
    np.testing.assert_array_equal(network.apply(inside), network.apply(missing))
    rows = np.vstack([inside, beside, missing])
    np.testing.assert_array_equal(network.apply(rows), twins.leaves(ensemble, rows))
    assert network.apply(beside)[1, 0] != network.apply(inside)[1, 0]
    assert not np.isnan(inside).any()  # the caller's rows stay as they are
    plain = ForestNetwork(build(feature=[1, 1, 1, 1, 1], missing_range=ensemble.missing_range))
    np.testing.assert_array_equal(plain.predict(inside), plain.predict(missing))


def test_features_without_a_range_of_missing_values_take_no_memory():
    ensemble = build(n_features=2**31 - 1)
    assert ensemble.missing_range.shape == (2**31 - 1, 2)


def test_nodes_carry_their_categories():
    left, right = [1, -1, 3, -1, -1], [2, -1, 4, -1, -1]
    nodes = nodes_with(left, right, category_left={2: np.array([True, False, True])}, feature=np.zeros(5, int))
    ensemble = TreeEnsemble.from_nodes([nodes_with(left, right), nodes, nodes], n_features=1)
    assert ensemble.is_categorical.tolist() == [False, False, False, True, False, True]
    assert ensemble.first_category.tolist() == [0, 0, 0, 0, 3, 3, 6]
    assert ensemble.category_left.tolist() == 2 * [True, False, True]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 6), min_size=2, max_size=5).map(tuple), st.integers(0, 10**6), st.data())
def test_slices_and_concatenations_keep_the_categories_of_their_trees(sizes, seed, data):
    ensemble = training_twins.random_ensemble(sizes, "sum", seed=seed, categories={0: 4, 2: 2})
    X, _ = training_twins.random_rows(ensemble, 30, seed, missing=0.1)
    start = data.draw(st.integers(0, len(sizes) - 1))
    stop = data.draw(st.integers(start + 1, len(sizes)))
    np.testing.assert_array_equal(twins.leaves(ensemble[start:stop], X), twins.leaves(ensemble, X)[:, start:stop])
    together = concatenated([ensemble[tree : tree + 1] for tree in range(len(sizes))])
    for name in ("first_category", "category_left", "first_split", "first_leaf", "value", "groups"):
        np.testing.assert_array_equal(getattr(together, name), getattr(ensemble, name))


def test_an_order_of_categories_is_that_of_their_mean_target():
    X = np.array([[0, 0, 0, 1, 1, 1, 2, 2, 2, np.nan, -1, 7]]).T
    target = np.array([5, 5, 5, -5, -5, -5, 1, 1, 1, 0, 0, 0.0])
    order = CategoryOrder.of(X, target, np.array([4]))
    # category 3 has no rows and stands at the mean of all, others are near it: -5, others, 3, 1, 5
    assert order.ranks[0].tolist() == [4, 0, 3, 2, 1]
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan]])
    np.testing.assert_array_equal(order.transform(rows), [[4], [0], [3], [2], [np.nan]])
    np.testing.assert_array_equal(order.transform(np.array([[-1.0], [4.0], [99.0]])), [[1], [1], [1]])
    assert rows[0, 0] == 0  # a copy is changed


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 8), st.integers(0, 10**6))
def test_sets_of_categories_go_where_their_ranks_went(n_categories, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    X[:, 1] = rng.integers(-1, n_categories + 1, size=60)
    X[rng.random(X.shape) < 0.1] = np.nan
    order = CategoryOrder.of(X, rng.normal(size=60), np.array([0, n_categories, 0]), rng.uniform(1, 2, 60))
    ranks = training_twins.random_ensemble((8, 1, 5), seed=seed)
    ranks = replace(
        ranks, threshold=np.where(ranks.feature == 1, rng.integers(0, 9, ranks.n_splits) - 0.5, ranks.threshold)
    )
    sets = order.sets_of(ranks)
    np.testing.assert_array_equal(sets.is_categorical, ranks.feature == 1)
    np.testing.assert_array_equal(twins.leaves(sets, X), twins.leaves(ranks, order.transform(X)))
    np.testing.assert_array_equal(order.transform(X)[:, [0, 2]], X[:, [0, 2]])


# --- slices and pickles ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [slice(0, 3), slice(2, 5), slice(-2, None), slice(None)])
def test_slices_hold_the_chosen_trees_and_nothing_else_changes(cut):
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, n_leaves) for n_leaves in (4, 1, 7, 2, 9)]
    shared = {
        "n_features": 3,
        "aggregation": "sum",
        "link": "log",
        "base_score": [1.0],
        "feature_names": ("a", "b", "c"),
    }
    part, direct = TreeEnsemble.from_nodes(trees, **shared)[cut], TreeEnsemble.from_nodes(trees[cut], **shared)
    for name in ("feature", "threshold", "missing_left", "begin", "middle", "end", "value", "first_leaf", "depth"):
        np.testing.assert_array_equal(getattr(part, name), getattr(direct, name))
    assert (part.link, part.aggregation, part.feature_names) == ("log", "sum", ("a", "b", "c"))


@pytest.mark.parametrize("cut", [slice(1, 1), slice(5, 9), slice(None, None, 2), slice(None, None, -1), 0])
def test_other_slices_are_refused(cut):
    with pytest.raises(IndexError, match="non-empty contiguous ranges of trees"):
        build()[cut]


def test_a_pickle_holds_everything():
    labels = (np.array(["ash", "elm", "oak"]), None)
    ensemble = build(
        **CATEGORIES,
        feature_names=("u", "v"),
        base_score=[0.5],
        aggregation="sum",
        missing_range=[[np.nan, np.nan], [-1e-35, 1e-35]],
        categories=labels,
    )
    copy = pickle.loads(pickle.dumps(ensemble))
    for name, value in vars(ensemble).items():
        if name != "categories":
            np.testing.assert_array_equal(getattr(copy, name), value)
    assert copy.categories[0].tolist() == ["ash", "elm", "oak"]
    assert copy.categories[1] is None
    assert not copy.value.flags.writeable


def test_a_damaged_pickle_is_refused():
    with pytest.raises(InvalidEnsembleError, match="middle must lie"):
        build().__setstate__(build().__getstate__() | {"middle": np.array([3, 99, 2, 4, 1])})
    with pytest.raises(InvalidEnsembleError, match="first_category must rise"):
        build().__setstate__(build().__getstate__() | {"first_category": np.array([0, 0, 0, 0, 0, 9])})


# --- trees with child pointers ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_the_order_of_nodes_does_not_matter(sizes, n_outputs, seed):
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, size, n_outputs) for size in sizes]
    ensemble = TreeEnsemble.from_nodes(iter(trees), n_features=3)
    assert np.diff(ensemble.first_leaf).tolist() == sizes
    X = rng.normal(size=(20, 3)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    for tree, leaves in enumerate(twins.leaves(ensemble, X).T + ensemble.first_leaf[:-1, None]):
        reached = [leaf_by_pointers(trees[tree], row) for row in X]
        np.testing.assert_array_equal(ensemble.value[leaves], trees[tree].value[reached])
        np.testing.assert_array_equal(ensemble.weight[leaves], trees[tree].weight[reached])


def nodes_with(left, right, **columns):
    n = len(left)
    blank = TreeNodes(np.array(left), np.array(right), *np.zeros((3, n), int), np.zeros((n, 1)), np.zeros(n))
    return blank._replace(**columns)


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ([], [], "a child pointer leads outside of the nodes"),
        ([1, -1, -1], [3, -1, -1], "a child pointer leads outside of the nodes"),
        ([2**40, -1, -1], [2, -1, -1], "a child pointer leads outside of the nodes"),
        ([0, -1, -1], [1, -1, -1], "a node is reached twice"),  # a cycle at the root
        ([1, 2, 3, 4, 0], [1, 2, 3, 4, 0], "a node is reached twice"),  # a long cycle
        ([1, 0, -1], [2, 2, -1], "a node is reached twice"),
        ([1, -1, -1], [1, -1, -1], "a node is reached twice"),  # both children are one node
        ([1, 3, 3, -1, -1], [2, 4, 4, -1, -1], "a node is reached twice"),  # a shared branch
        ([1, -1], [-1, -1], "a node has one child only"),
        ([-1, -1], [1, -1], "a node has one child only"),
    ],
)
def test_pointers_that_form_no_tree_are_refused(left, right, reason):
    with pytest.raises(InvalidEnsembleError, match=f"^tree 1 is not a tree: {reason}"):
        TreeEnsemble.from_nodes([nodes_with([-1], [-1]), nodes_with(left, right)], n_features=1)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(1, 6).flatmap(lambda n: st.tuples(*2 * [st.lists(st.integers(-1, n), min_size=n, max_size=n)])))
def test_any_pointers_are_a_tree_or_an_error(pointers):
    try:
        ensemble = TreeEnsemble.from_nodes([nodes_with(*pointers)], n_features=1)
    except InvalidEnsembleError as error:
        ensemble, reason = None, str(error)
    assert ensemble is not None or reason.startswith("tree 0 is not a tree")
    assert ensemble is None or ensemble.n_leaves == len(twins.leaf_nodes(*pointers))


@pytest.mark.parametrize("name", ["right", "feature", "threshold", "missing_left", "weight"])
def test_columns_of_nodes_have_one_length(name):
    nodes = nodes_with([-1, -1, -1], [-1, -1, -1])._replace(**{name: np.zeros(2)})
    with pytest.raises(InvalidEnsembleError, match=rf"^{name} of tree 0 must have shape \(3,\), got \(2,\)"):
        TreeEnsemble.from_nodes([nodes], n_features=1)


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (3,), (3, 1, 1)])
def test_values_of_nodes_have_one_shape_in_all_trees(shape):
    good, bad = nodes_with([-1], [-1]), nodes_with([-1] * 3, [-1] * 3, value=np.zeros(shape))
    with pytest.raises(InvalidEnsembleError, match=r"^value of tree 1 must have shape \(3, 1\), got"):
        TreeEnsemble.from_nodes([good, bad], n_features=1)


@pytest.mark.parametrize("shape", [(3,), (3, 1, 1)])
def test_values_of_nodes_have_two_axes(shape):
    with pytest.raises(InvalidEnsembleError, match=r"^value of tree 0 must have shape \(nodes, outputs\), got"):
        TreeEnsemble.from_nodes([nodes_with([-1] * 3, [-1] * 3, value=np.zeros(shape))], n_features=1)


def test_an_ensemble_needs_a_tree():
    with pytest.raises(InvalidEnsembleError, match="at least one tree"):
        TreeEnsemble.from_nodes([], n_features=1)


def test_a_forest_is_read_without_copies_that_outlive_it():
    trees = [random_tree(np.random.default_rng(seed), 50) for seed in range(3)]
    before = pickle.dumps(trees)
    ensemble = TreeEnsemble.from_nodes(trees, n_features=3)
    assert pickle.dumps(trees) == before
    assert not any(np.shares_memory(ensemble.value, tree.value) for tree in trees)


@pytest.mark.parametrize(
    ("name", "offsets"),
    [("first_split", [0, 2**62, -(2**62), 1]), ("first_leaf", [0, 2**62, -(2**62)]), ("groups", [])],
)
def test_offsets_whose_differences_overflow_are_refused(name, offsets):
    assert message(**{name: offsets}).startswith(f"{name} must be one rising row of offsets that starts at 0")
