"""
A recurrent network
===================

The same cell is called at every step, so a site is a call of a module: ``cell#0``, ``cell#1``, ….
What comes in later is not among the variables: the inputs of later steps are *context*, which acts
on the variables of its step and is never abstracted.
"""

# %%
# The network
# -----------
# It keeps a running sum of its inputs in six noisy-looking units, and reads it off at the end. The
# sum is the one thing that a step hands on to the next.
import numpy as np
import torch
from torch import nn


class Counter(nn.Module):
    """h_t = relu(W s_t), where s_t = v·h_{t-1} + x_t is the running sum."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(1)
        write = torch.tensor(rng.uniform(0.5, 2.0, size=(6, 1)))
        read = torch.tensor(rng.uniform(0.5, 1.5, size=(1, 6)))
        read = read / (read @ write)
        self.cell = nn.Linear(7, 6, bias=False)
        self.read = nn.Linear(6, 1, bias=False)
        with torch.no_grad():
            self.cell.weight.copy_(torch.cat([write @ read, write], dim=1))
            self.read.weight.copy_(read)

    def forward(self, x):
        h = torch.zeros(len(x), 6)
        for step in range(x.shape[1]):
            h = torch.relu(self.cell(torch.cat([h, x[:, step : step + 1]], dim=1)))
        return self.read(h)


network = Counter().float()
rng = np.random.default_rng(2)
inputs = torch.tensor(rng.uniform(0, 1, size=(3000, 3))).float()
error = (network(inputs)[:, 0] - inputs.sum(dim=1)).abs().max()
print(f"The network adds up: its largest error is {error:.0e}.")

# %%
# Record every step
# -----------------
from ucad.networks import RecordSettings, record

sites = ["cell#0", "cell#1", "cell#2"]
recording = record(network, inputs, sites, settings=RecordSettings(per_clamp=200))
print(recording.data)

# %%
# The inputs of the second and third step are known for every sample:
later = inputs[recording.input_of, 1:].numpy()
data = recording.data.with_context({"x2": later[:, 0], "x3": later[:, 1]})
print(data)

# %%
# Fit
# ---
# One factor between every two steps. Without the context, what comes in later would look like noise
# that all units of a step share.
import ucad

model = ucad.UCAD(
    n_factors=2, solver="search", factor_mechanism="linear", variable_mechanism="linear"
).fit(data)
for factor in model.graph_.factor_names:
    parents, children = model.graph_.parents(factor), model.graph_.children(factor)
    print(factor, "reads", *parents)
    print("   drives", *children)

# %%
# The factors are the running sums:
z = model.transform(data)
sums = inputs.cumsum(dim=1)[recording.input_of].numpy()
quiet = recording.is_observational
for k, factor in enumerate(model.graph_.factor_names):
    r = [abs(np.corrcoef(z[quiet, k], sums[quiet, step])[0, 1]) for step in range(3)]
    print(f"{factor}: |r| with the sum after step 1, 2, 3:", *(f"{one:.3f}" for one in r))

# %%
# One factor hands on what each step has summed up:
from ucad.report.figures import graph_figure

figure = graph_figure(model.scm_)
