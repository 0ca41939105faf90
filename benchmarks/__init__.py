"""The paper's experiments, peers and speed. Outside of the wheel: it needs data and the extra `bench`."""
