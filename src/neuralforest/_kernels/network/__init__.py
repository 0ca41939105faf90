"""Kernels of soft networks: forward, backward, Adam, and the loop over minibatches."""
