"""The arrays that kernels share, in named groups; and where a subnetwork's layers stand in its parameters.

A *subnetwork* is what is trained as one network: one tree (independent training) or all trees (joint training). Its
parameters are one flat vector, [w1 | b1 | w2 | b2 | w_out | b_out], with the trees end to end in each part. In place of
b_out stands, for each tree, its share of b_out - sum(w_out), the output where no leaf fires: a prediction is a sum of
w_out * (v + 1), which loses no digits however many leaves there are.
"""

from typing import Any, NamedTuple

from neuralforest._kernels.jit import part

IDENTITY, SOFTMAX = None, 1
"""What is done to a tree's output before trees are added up. Kernels compile without what they are given None for."""


class Structure(NamedTuple):
    """Which unit is joined to which: never trained."""

    first_split: Any  # int64 (trees + 1,)
    first_leaf: Any  # int64 (trees + 1,)
    first_connection: Any  # int64 (splits + 1,)
    begin: Any  # int32 (splits,): the run of leaves of each split, counted inside the tree
    end: Any  # int32 (splits,)
    feature: Any  # int32 (splits,)
    missing: Any  # float32 (splits,): the unit's output where its feature is missing, -1 or +1
    inputs: Any  # int32: the features that each tree uses, trees end to end
    first_input: Any  # int64 (trees + 1,)
    input: Any  # int32 (splits,): place of the split's feature among its tree's inputs
    first_tree_of: Any  # int64 (subnetworks + 1,): first tree of each subnetwork
    first_parameter: Any  # int64 (subnetworks + 1,)
    n_features: int
    n_outputs: int
    full: bool  # connectivity
    head: int | None  # IDENTITY or SOFTMAX
    contrast1: Any  # float32
    contrast2: Any  # float32


class Rows(NamedTuple):
    """The rows that each subnetwork is trained or judged on."""

    X: Any  # float32 (rows, features), scaled
    y: Any  # float32 (rows, outputs), scaled; one-hot for classes
    row: Any  # int32: row numbers, subnetworks may share them
    weight: Any  # float32: one weight an entry of `row`
    begin: Any  # int64 (subnetworks,): where the subnetwork's entries begin
    end: Any  # int64 (subnetworks,)


def middle_of(begin, end):  # type: ignore[no-untyped-def]
    """Return where the second half of each subnetwork's entries begins; of an odd number the first has one more."""
    return (begin + end + 1) // 2


class Weights(NamedTuple):
    """What changes in training."""

    parameters: Any  # float32, subnetworks end to end
    first_moment: Any  # float32
    second_moment: Any  # float32
    start: Any  # float32, what weight decay pulls towards; empty without decay
    steps: Any  # int64 (subnetworks,)


class Plan(NamedTuple):
    """How to train."""

    batch_size: int
    loss: int
    loss_parameter: float | None  # None for the squared error: kernels then compile without the others
    rates: Any  # float64 (3,): step sizes of the layers
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float
    bound: float | None  # C of the theory's bound C * leaves; None for none


class Scratch(NamedTuple):
    """Buffers, one set a thread (independent) or one for all threads (joint)."""

    x: Any  # float32 (inputs, SIMD_WIDTH)
    u: Any  # float32 (splits, SIMD_WIDTH): outputs of layer 1
    h: Any  # float32 (leaves, SIMD_WIDTH): outputs of layer 2, then their derivatives
    score: Any  # float32 (2 * trees * outputs, SIMD_WIDTH): of every tree, of this and of the previous chunk
    gradient: Any  # float32 (parameters of the largest subnetwork,)


class Tiles(NamedTuple):
    """Further buffers for full connectivity. Kernels are given None for sparse, and then compile without that half."""

    du: Any  # float32 (splits, SIMD_WIDTH): derivatives of layer 1
    transposed: Any  # float32 (rows, SIMD_WIDTH)


def layer_offsets(structure, subnetwork):  # type: ignore[no-untyped-def]
    """Return where w1, b1, w2, b2, w_out and b_out begin in the parameters of a subnetwork, and their number."""
    first, last = structure.first_tree_of[subnetwork], structure.first_tree_of[subnetwork + 1]
    start, stop = structure.first_split[first], structure.first_split[last]
    splits, leaves = stop - start, structure.first_leaf[last] - structure.first_leaf[first]
    if structure.full:
        width, connections = structure.n_features, splits * leaves
    else:
        width, connections = 1, structure.first_connection[stop] - structure.first_connection[start]
    b1 = splits * width
    w2 = b1 + splits
    b2 = w2 + connections
    w_out = b2 + leaves
    b_out = w_out + leaves * structure.n_outputs
    w1 = b1 - splits * width  # not a literal 0, which would compile what it is given to once more
    return w1, b1, w2, b2, w_out, b_out, b_out + (last - first) * structure.n_outputs


compiled_offsets = part(layer_offsets)
"""`layer_offsets` for kernels."""
