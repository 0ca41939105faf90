import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralforest.convert import convert
from neuralforest.plots._geometry import network_layout, tree_layout, tree_nodes
from plots import models


@st.composite
def middles(draw, most=40):
    """Draw a tree: the first right leaf of each split, depth-first."""
    result = []

    def grow(begin, end):
        if end - begin > 1:
            cut = draw(st.integers(begin + 1, end - 1))
            result.append(cut)
            grow(begin, cut)
            grow(cut, end)

    grow(0, draw(st.integers(1, most)))
    return result


def overlapping(x, y, width, height):
    """Return the pairs of boxes that share a point."""
    apart_x = np.abs(x[:, None] - x) >= (width[:, None] + width) / 2 - 1e-9
    apart_y = np.abs(y[:, None] - y) >= (height[:, None] + height) / 2 - 1e-9
    return [(i, j) for i, j in np.argwhere(~(apart_x | apart_y)) if i < j]


@settings(max_examples=40, deadline=None)
@given(middles())
def test_nodes_are_numbered_depth_first_and_hold_every_leaf_once(middle):
    nodes = tree_nodes(middle)
    assert len(nodes.split) == 2 * len(middle) + 1
    assert nodes.split[nodes.of_split].tolist() == list(range(len(middle)))
    assert nodes.begin[nodes.of_leaf].tolist() == list(range(len(middle) + 1))
    assert (nodes.parent[1:] < np.arange(1, len(nodes.parent))).all()
    children = nodes.parent[1:]
    assert (np.bincount(children, minlength=len(nodes.split)) == np.where(nodes.is_leaf, 0, 2)).all()
    assert (nodes.depth[1:] == nodes.depth[children] + 1).all()


def test_the_papers_tree_gets_the_papers_numbers():
    network = convert(models.figure_two()[0])
    nodes = tree_nodes(network.ensemble.middle)
    assert nodes.of_split.tolist() == [0, 1, 3, 6, 8]
    assert nodes.of_leaf.tolist() == [2, 4, 5, 7, 9, 10]


@settings(max_examples=40, deadline=None)
@given(
    middles(),
    st.tuples(st.floats(0.2, 3), st.floats(0.1, 1)),
    st.tuples(st.floats(0.2, 3), st.floats(0.1, 1)),
    st.integers(1, 6),
)
def test_boxes_of_a_tree_do_not_overlap_and_fit_into_the_drawing(middle, split_size, end_size, max_depth):
    nodes = tree_nodes(middle)
    at = tree_layout(nodes, split_size, end_size, max_depth)
    assert not overlapping(at.x, at.y, at.width, at.height)
    assert (at.x - at.width / 2).min() >= -1e-9
    assert (at.y - at.height / 2).min() >= -1e-9
    assert (at.x + at.width / 2).max() <= at.size[0] + 1e-9
    assert (at.y + at.height / 2).max() <= at.size[1] + 1e-9


@settings(max_examples=40, deadline=None)
@given(middles(), st.integers(1, 6))
def test_children_are_to_the_right_and_leaves_are_in_order(middle, max_depth):
    nodes = tree_nodes(middle)
    at = tree_layout(nodes, (2.0, 0.5), (1.0, 0.2), max_depth)
    below = at.parent >= 0
    assert (at.x[below] - at.width[below] / 2 > at.x[at.parent[below]] + at.width[at.parent[below]] / 2).all()
    assert (np.diff(at.y[at.is_end]) > 0).all()
    leaves = nodes.end[at.node[at.is_end]] - nodes.begin[at.node[at.is_end]]
    assert leaves.sum() == len(middle) + 1
    for box in np.flatnonzero(~at.is_end):
        assert at.y[box] == pytest.approx(at.y[at.parent == box].mean())


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 30), min_size=4, max_size=4),
    st.lists(st.tuples(st.floats(0.1, 3), st.floats(0.1, 1)), min_size=4, max_size=4),
)
def test_units_of_a_network_are_in_order_and_do_not_overlap(counts, sizes):
    at = network_layout(counts, sizes)
    assert [len(column) for column in at.y] == counts
    x = np.repeat(at.x, counts)
    width, height = (np.repeat([size[i] for size in sizes], counts) for i in (0, 1))
    y = np.concatenate(at.y)
    assert not overlapping(x, y, width, height)
    assert all((np.diff(column) > 0).all() for column in at.y)
    assert (np.diff(at.x) > 0).all()
    assert (y - height / 2).min() >= -1e-9
    assert (y + height / 2).max() <= at.size[1] + 1e-9
    assert (x + width / 2).max() <= at.size[0] + 1e-9
