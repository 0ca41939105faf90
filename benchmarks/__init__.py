"""Benchmarks: the paper's experiments, accuracy, speed. Not part of the wheel; they need data and the extra `bench`."""
