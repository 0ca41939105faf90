"""Kernels of the network: forward, loss, backward and Adam."""
