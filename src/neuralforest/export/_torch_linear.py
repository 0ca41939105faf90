"""A linear function beside the network as a torch module: constant, with a gradient for its rows."""

from dataclasses import fields

import torch
from torch import Tensor, nn

from neuralforest.companion import Linear


class LinearFunction(nn.Module):
    """The linear function of the rows of X, as they are when trees compare them."""

    def __init__(self, linear: Linear, compare_dtype: torch.dtype) -> None:
        super().__init__()
        self.compare_dtype = compare_dtype
        for part in fields(linear):
            self.register_buffer(part.name, torch.tensor(getattr(linear, part.name)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the function, (rows, outputs); see `Linear.output`."""
        x = x.to(self.compare_dtype).to(self.slope.dtype)
        seen = (torch.clamp(x, self.low, self.high) - self.center) / self.scale
        return torch.where(x.isnan(), 0.0, seen) @ self.slope + self.intercept
