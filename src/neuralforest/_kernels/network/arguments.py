"""The arrays that kernels share, in named groups, and the offsets of a subnetwork's layers in its parameters.

A *subnetwork* is trained by itself: the network of one tree (independent training), of all trees (joint training),
or of any group of consecutive trees. Its parameters are one flat vector, [w1 | b1 | w2 | b2 | w_out | b_out], with the
trees end to end in each part. In place of b_out stands, for each tree, its part of b_out - sum(w_out), the output where
no leaf is active: a prediction is a sum of w_out * (v + 1), which loses no digits however many leaves there are.
"""

from typing import Any, NamedTuple

from neuralforest._kernels.jit import part

IDENTITY, SOFTMAX = None, 1
"""What is applied to a tree's output before trees are added up. No branch is compiled for an argument that is None."""


class Structure(NamedTuple):
    """The connections of the units: never trained."""

    first_split: Any  # int64 (trees + 1,)
    first_leaf: Any  # int64 (trees + 1,)
    first_connection: Any  # int64 (splits + 1,)
    begin: Any  # int32 (splits,): the run of leaves of each split, counted inside the tree
    end: Any  # int32 (splits,)
    column: Any  # int32 (splits,): the split's input, or the first of them
    missing: Any  # float32 (splits,): the unit's output where its feature is missing, -1 or +1
    inputs: Any  # int32: the columns that each tree uses, trees end to end
    first_input: Any  # int64 (trees + 1,)
    input: Any  # int32 (splits,): position of the split's first column among its tree's inputs
    first_weight: Any  # int64 (splits + 1,): the first input of each split, when those of all splits stand end to end
    categorical: int | None  # 1 where a split may have several inputs, the categories of a feature
    first_tree: Any  # int64 (subnetworks + 1,)
    first_parameter: Any  # int64 (subnetworks + 1,)
    n_columns: int
    n_outputs: int
    full: bool  # connectivity
    head: int | None  # IDENTITY or SOFTMAX
    contrast1: Any  # float32
    contrast2: Any  # float32


class Rows(NamedTuple):
    """The training rows or the validation rows of each subnetwork."""

    X: Any  # float32 (rows, features), scaled
    y: Any  # float32 (rows, outputs), scaled; one-hot for classification
    row: Any  # int32: row numbers, subnetworks may share them
    weight: Any  # float32: one weight per entry of `row`
    begin: Any  # int64 (subnetworks,): the subnetwork's first entry
    end: Any  # int64 (subnetworks,)


def middle_of(begin, end):  # type: ignore[no-untyped-def]
    """Return the start of the second half of each subnetwork's entries; of an odd number the first has one more."""
    return (begin + end + 1) // 2


class Weights(NamedTuple):
    """The arrays that training updates."""

    parameters: Any  # float32, subnetworks end to end
    first_moment: Any  # float32
    second_moment: Any  # float32
    start: Any  # float32, the initial values that weight decay pulls towards; empty without decay
    steps: Any  # int64 (subnetworks,)


class Plan(NamedTuple):
    """The settings of training."""

    batch_size: int
    loss: int
    loss_parameter: float | None  # None for the squared error: the branches of the others are then not compiled
    rates: Any  # float64 (3,): learning rates of the layers
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float
    weight_bound: float | None  # C of the theory's bound C * leaves; None for no bound


class Scratch(NamedTuple):
    """Buffers, one set per thread (independent) or one for all threads (joint)."""

    x: Any  # float32 (inputs, SIMD_WIDTH)
    u: Any  # float32 (splits, SIMD_WIDTH): outputs of layer 1
    h: Any  # float32 (leaves, SIMD_WIDTH): outputs of layer 2, then the gradients of their arguments
    score: Any  # float32 (2 * trees * outputs, SIMD_WIDTH): of every tree, for this and for the previous chunk
    gradient: Any  # float32 (parameters of the largest subnetwork,)


class Tiles(NamedTuple):
    """Further buffers for full connectivity. For sparse, None is passed, and the code of full is not compiled."""

    du: Any  # float32 (splits, SIMD_WIDTH): gradients of layer 1
    transposed: Any  # float32 (rows, SIMD_WIDTH)


def layer_offsets(structure, subnetwork):  # type: ignore[no-untyped-def]
    """Return the offsets of w1, b1, w2, b2, w_out and b_out in the parameters of a subnetwork, and their number."""
    first, last = structure.first_tree[subnetwork], structure.first_tree[subnetwork + 1]
    start, stop = structure.first_split[first], structure.first_split[last]
    splits, leaves = stop - start, structure.first_leaf[last] - structure.first_leaf[first]
    if structure.full:
        b1, connections = splits * structure.n_columns, splits * leaves
    else:
        b1 = structure.first_weight[stop] - structure.first_weight[start]
        connections = structure.first_connection[stop] - structure.first_connection[start]
    w2 = b1 + splits
    b2 = w2 + connections
    w_out = b2 + leaves
    b_out = w_out + leaves * structure.n_outputs
    w1 = b1 - b1  # not a literal 0, for which its callees would be compiled once more
    return w1, b1, w2, b2, w_out, b_out, b_out + (last - first) * structure.n_outputs


compiled_offsets = part(layer_offsets)
"""`layer_offsets` for kernels."""
