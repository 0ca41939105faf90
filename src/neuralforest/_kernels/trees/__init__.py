"""Kernels of trees: growing, boosting and traversal."""
