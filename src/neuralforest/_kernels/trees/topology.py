"""A tree given by child pointers becomes depth-first runs of leaves."""

import numpy as np

from neuralforest._kernels.jit import kernel

OK, OUT_OF_RANGE, VISITED_TWICE, ONE_CHILD = 0, 1, 2, 3


@kernel
def append_tree(nodes, flat, first_split, first_leaf):  # type: ignore[no-untyped-def]
    """Write one tree depth-first, left before right, behind the trees that `flat` holds already.

    Parameters
    ----------
    nodes : TreeNodes
        Contiguous arrays; child pointers are int64, negative at a leaf. Node 0 is the root.
    flat : FlatTrees
        Preallocated; a tree of n nodes takes at most (n - 1) // 2 splits and (n + 1) // 2 leaves.
    first_split, first_leaf : int
        How much of `flat` is taken.

    Returns
    -------
    status : int
        OK, or what is wrong with the pointers.
    n_splits : int
        Splits written; leaves are one more.
    """
    n = len(nodes.left)
    seen = np.zeros(n, np.bool_)
    waiting = np.empty(n + 1, np.int64)  # a stack of nodes ...
    parent = np.empty(n + 1, np.int64)  # ... and the split that waits for its middle: -1 for a left child and the root
    waiting[0], parent[0], size = 0, -1, 1
    s, leaf = 0, 0
    while size > 0:
        size -= 1
        node = waiting[size]
        if node >= n:
            return OUT_OF_RANGE, 0
        if seen[node]:
            return VISITED_TWICE, 0
        seen[node] = True
        if parent[size] >= 0:
            flat.middle[parent[size]] = leaf
        left, right = nodes.left[node], nodes.right[node]
        if left < 0 and right < 0:
            for output in range(nodes.value.shape[1]):
                flat.value[first_leaf + leaf, output] = nodes.value[node, output]
            flat.weight[first_leaf + leaf] = nodes.weight[node]
            leaf += 1
        elif left < 0 or right < 0:
            return ONE_CHILD, 0
        elif left >= n or right >= n:
            return OUT_OF_RANGE, 0
        elif 2 * s + 3 > n:  # a tree of s + 1 splits has 2 s + 3 nodes, so one of these comes twice
            return VISITED_TWICE, 0
        else:
            k = first_split + s
            flat.feature[k] = nodes.feature[node]
            flat.threshold[k] = nodes.threshold[node]
            flat.missing_left[k] = nodes.missing_left[node]
            waiting[size], parent[size] = right, k
            waiting[size + 1], parent[size + 1] = left, -1
            size += 2
            s += 1
    return OK, s


@kernel
def runs_of_leaves(middle, first_split, begin, end):  # type: ignore[no-untyped-def]
    """Fill `begin` and `end` of every split from `middle` alone; return the first bad split, or -1.

    Splits stand in depth-first order, so the left child of split k is split k + 1 (or a leaf), and the right child
    comes after the left child's middle - begin - 1 splits. A bad split is one whose children would not both hold a
    leaf.
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
