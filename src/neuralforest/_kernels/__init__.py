"""The numba kernels: plain loops over arrays. Nothing else in the package imports numba."""
