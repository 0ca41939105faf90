"""
A forest as a layer of a larger network
=======================================

``to_torch`` returns a module whose weights are those of the trained network. It can be part of a larger model and be trained with it.
"""

# %%
# The forest handles the numeric columns. An embedding of an identifier, which trees handle badly, is added, and both are trained together.
import matplotlib.pyplot as plt
import numpy as np
import torch

import neuralforest as nf
from neuralforest.export.torch import to_torch

torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
n, n_ids = 1200, 60
X, ids = rng.uniform(-1, 1, (n, 4)), rng.integers(0, n_ids, n)
effect = rng.normal(size=n_ids)
y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + effect[ids] + 0.1 * rng.normal(size=n)
train = np.arange(n) < 900
model = nf.NeuralForestRegressor(stacking=None, random_state=0).fit(X[train], y[train])


class WithEmbedding(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.forest = to_torch(model)
        self.effect = torch.nn.Embedding(n_ids, 1)
        torch.nn.init.zeros_(self.effect.weight)

    def forward(self, x, identifier):
        return self.forest(x).reshape(-1) + self.effect(identifier)[:, 0]


# %%
# At the start the sum is exactly the forest's network; then everything is trained.
whole = WithEmbedding()
x, identifier, target = torch.tensor(X), torch.tensor(ids), torch.tensor(y)
optimizer = torch.optim.Adam(
    [
        {"params": whole.forest.parameters(), "lr": 0.001},
        {"params": whole.effect.parameters(), "lr": 0.05},
    ]
)
curve = []
for _ in range(60):
    optimizer.zero_grad()
    loss = torch.mean((whole(x[train], identifier[train]) - target[train]) ** 2)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        curve.append(float(torch.mean((whole(x[~train], identifier[~train]) - target[~train]) ** 2)) ** 0.5)
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(curve, color="#0072B2", label="network of the forest and embedding")
ax.axhline(
    np.sqrt(np.mean((model.predict(X[~train]) - y[~train]) ** 2)), color="#D55E00", label="without the identifier"
)
ax.set(xlabel="step", ylabel="test RMSE", ylim=(0, None))
_ = ax.legend()
