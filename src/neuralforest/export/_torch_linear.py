"""A linear base model as a torch module: without parameters, with a gradient for its inputs."""

import torch
from torch import Tensor, nn

from neuralforest.network import LinearModel


class LinearFunction(nn.Module):
    """The predictions of a linear model, for rows in the dtype that the trees of the network compare in."""

    def __init__(self, model: LinearModel, compare_dtype: str) -> None:
        super().__init__()
        self.compare_dtype = getattr(torch, compare_dtype)
        for name in ("low", "high", "center", "scale", "coef", "intercept"):
            self.register_buffer(name, torch.tensor(getattr(model, name)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the predictions, (rows, outputs); see `LinearModel.prediction`."""
        x = x.to(self.compare_dtype).to(self.coef.dtype)
        scaled = (torch.clamp(x, self.low, self.high) - self.center) / self.scale
        return torch.where(x.isnan(), 0.0, scaled) @ self.coef + self.intercept
