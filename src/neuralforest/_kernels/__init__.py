"""The numba kernels: loops over plain arrays. Nothing else in the package imports numba."""
