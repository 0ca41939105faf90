"""Dask estimators: accuracy, time and memory by workers, lost workers, data larger than memory, and a simulation."""
