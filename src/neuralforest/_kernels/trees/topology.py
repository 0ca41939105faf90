"""Conversion of trees from child pointers to depth-first runs of leaves."""

import numpy as np

from neuralforest._kernels.jit import kernel, part

OK, OUT_OF_RANGE, VISITED_TWICE, ONE_CHILD = 0, 1, 2, 3


@part
def _status(nodes, node, seen, n_splits):  # type: ignore[no-untyped-def]
    """Return what is wrong with a node that is visited after n_splits splits, or OK."""
    n = len(nodes.left)
    if node >= n:
        return OUT_OF_RANGE
    left, right = nodes.left[node], nodes.right[node]
    if seen[node]:
        return VISITED_TWICE
    if (left < 0) != (right < 0):
        return ONE_CHILD
    if left >= n or right >= n:
        return OUT_OF_RANGE
    # a tree of s + 1 splits has 2 s + 3 nodes: with more than n, one of them is visited twice
    return VISITED_TWICE if left >= 0 and 2 * n_splits + 3 > n else OK


@kernel
def append_tree(nodes, flat, node_of_split, first_split, first_leaf):  # type: ignore[no-untyped-def]
    """Write one tree depth-first, left before right, behind the trees that `flat` holds already.

    Parameters
    ----------
    nodes : TreeNodes
        Contiguous arrays; child pointers are int64, negative at a leaf. Node 0 is the root.
    flat : FlatTrees
        Preallocated; a tree of n nodes takes at most (n - 1) // 2 splits and (n + 1) // 2 leaves.
    node_of_split : int64 array (splits,)
        Filled together with `flat`.
    first_split, first_leaf : int
        The first unused split and leaf of `flat`.

    Returns
    -------
    status, n_splits : int
        OK or what is wrong with the pointers, and the number of splits written; leaves are one more.
    """
    seen = np.zeros(len(nodes.left), np.bool_)
    stack = np.empty((len(seen) + 1, 2), np.int64)  # nodes, and the split of which a node is the right child, or -1
    stack[0, 0], stack[0, 1], size = 0, -1, 1
    k, leaf = first_split, 0
    while size > 0:
        size -= 1
        node, parent = stack[size, 0], stack[size, 1]
        status = _status(nodes, node, seen, k - first_split)
        if status != OK:
            return status, 0
        seen[node] = True
        if parent >= 0:
            flat.middle[parent] = leaf
        if nodes.left[node] < 0:
            for output in range(nodes.value.shape[1]):
                flat.value[first_leaf + leaf, output] = nodes.value[node, output]
            flat.weight[first_leaf + leaf] = nodes.weight[node]
            leaf += 1
        else:
            flat.feature[k], flat.threshold[k] = nodes.feature[node], nodes.threshold[node]
            flat.missing_left[k] = nodes.missing_left[node]
            node_of_split[k] = node
            stack[size, 0], stack[size, 1] = nodes.right[node], k
            stack[size + 1, 0], stack[size + 1, 1] = nodes.left[node], -1
            size, k = size + 2, k + 1
    return OK, k - first_split


@kernel
def runs_of_leaves(middle, first_split, begin, end):  # type: ignore[no-untyped-def]
    """Fill `begin` and `end` of every split from `middle` alone; return the first invalid split, or -1.

    Splits are in depth-first order, so the left child of split k is split k + 1 (or a leaf), and the right child
    comes after the left child's middle - begin - 1 splits. A split is invalid if one of its children has no leaf.
    """
    for tree in range(len(first_split) - 1):
        start, stop = first_split[tree], first_split[tree + 1]
        if start == stop:
            continue
        begin[start], end[start] = 0, stop - start + 1
        for k in range(start, stop):
            b, m, e = begin[k], middle[k], end[k]
            if not b < m < e:
                return k
            if m - b > 1:
                begin[k + 1], end[k + 1] = b, m
            if e - m > 1:
                begin[k + m - b], end[k + m - b] = m, e
    return -1
