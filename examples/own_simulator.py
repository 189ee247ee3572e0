"""A system you can act on: clamp its variables one by one, fit, and predict an unseen clamp."""

import numpy as np

import ucad

rng = np.random.default_rng(1)


def system(n, clamp=None):
    """Two inputs make a factor, which drives three outputs; `clamp` sets variables."""
    clamp = clamp or {}
    x = np.empty((n, 5))
    for i in range(2):
        x[:, i] = clamp.get(i, rng.standard_normal(n))
    z = x[:, 0] + x[:, 1]
    for i, weight in zip(range(2, 5), (1.0, -1.0, 0.5), strict=True):
        x[:, i] = clamp.get(i, weight * z + 0.5 * rng.standard_normal(n))
    return x


regimes = [({}, ""), *[({i: rng.standard_normal(300)}, f"X{i + 1}") for i in range(5)]]
x = np.concatenate([system(2000 if not clamp else 300, clamp) for clamp, _ in regimes])
targets = [name for clamp, name in regimes for _ in range(2000 if not clamp else 300)]

data = ucad.InterventionalData.from_targets(x, targets)
model = ucad.UCAD(1).fit(data)
print(model.graph_, "·", model.graph_.parents("Z1"), "→", model.graph_.children("Z1"))
predicted = model.scm_.do({"X1": 2.0, "X2": 2.0}).sample(5000).x.mean(dim=0)
happens = system(5000, {0: 2.0, 1: 2.0}).mean(axis=0)
print("predicted", np.round(predicted.numpy(), 1), "· happens", np.round(happens, 1))
