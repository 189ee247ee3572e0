"""
A network whose factors are known
=================================

A network is wired by hand to compute the parity of four bits as a tree, (x1 xor x2) xor (x3 xor
x4). Its units are recorded, clamped one by one, and fitted; then the factors that were found are
set inside the network, and we see whether it decides as it should.
"""

# %%
# The network
# -----------
# Two sums of two bits, then the two inner XORs, each carried by several ReLU units of random scale.
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)


def layer(weights, bias):
    """A linear layer with given weights; every unit has a random positive scale."""
    scale = rng.uniform(0.5, 2.0, size=len(weights))
    made = nn.Linear(len(weights[0]), len(weights))
    with torch.no_grad():
        made.weight.copy_(torch.tensor(np.array(weights, dtype=float) * scale[:, None]))
        made.bias.copy_(torch.tensor(np.array(bias, dtype=float) * scale))
    return made, scale


bits, one = layer(np.kron(np.eye(4), np.ones((2, 1))), [0] * 8)
sums = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]]) * 0.5 / one
first = [sums[0], sums[0], sums[1], sums[1], sums[0] + sums[1]]
hidden, two = layer(first, [0, -1, 0, -1, 0])
xors = np.array([[1, -2, 0, 0, 0], [0, 0, 1, -2, 0]]) / two
second = [xors[0], xors[0], xors[1], xors[1], xors[0] + xors[1], xors[0] + xors[1]]
top, three = layer(second, [0, 1, 0, 1, 0, -1])
last = nn.Linear(6, 1)
with torch.no_grad():
    last.weight.copy_(torch.tensor([[0, 0, 0, 0, 1, -2]] / three))
    last.bias.zero_()
network = nn.Sequential(bits, nn.ReLU(), hidden, nn.ReLU(), top, nn.ReLU(), last).float()

inputs = torch.tensor(rng.integers(0, 2, size=(3000, 4))).float()
right = (network(inputs)[:, 0].round() == inputs.sum(dim=1) % 2).float().mean()
print(f"The network is right on {right:.0%} of its inputs.")

# %%
# Record
# ------
# Three sites; every unit is clamped on 200 inputs to a value it has on some other input.
from ucad.networks import RecordSettings, record

settings = RecordSettings(per_clamp=200)
recording = record(network, inputs, ["1", "3", "5"], settings=settings)
print(recording.data)

# %%
# Fit
# ---
# ``rectified`` reads the slopes of ReLU units off, and finds two factors between every two sites.
import ucad

model = ucad.UCAD(n_factors=4, solver="rectified").fit(recording.data)
for factor in model.graph_.factor_names:
    print(factor, ":", *model.graph_.parents(factor), "→", *model.graph_.children(factor))

# %%
# Which factor is which
# ---------------------
from ucad.metrics import Correlation, correlation_matrix
from ucad.networks import Steering

steering = Steering(network, model.scm_)
test = torch.tensor(rng.integers(0, 2, size=(1000, 4))).float()
z = steering.run(test).z.numpy()
first_xor = (test[:, 0] + test[:, 1]).numpy() % 2
second_xor = (test[:, 2] + test[:, 3]).numpy() % 2
concepts = np.stack([first_xor, second_xor], axis=1)
related = np.abs(correlation_matrix(z, concepts, Correlation.PEARSON))
for k, factor in enumerate(model.graph_.factor_names):
    first, second = related[k]
    print(f"{factor}: |r| with x1 xor x2 {first:.2f}, with x3 xor x4 {second:.2f}")

# %%
# Units feed factors, and factors drive the units of the next site:
from ucad.report.figures import graph_figure

figure = graph_figure(model.scm_)

# %%
# Steer
# -----
# Take the factor that is x1 xor x2 from another input. The network should then answer as if its
# first two bits had that XOR, and it does.
found = model.graph_.factor_names[int(related[:, 0].argmax())]
other = test[torch.randperm(len(test), generator=torch.Generator().manual_seed(0))]
swapped = steering.interchange(test, other, found)
answer = swapped.after.output[:, 0].round()
wanted = (other[:, :2].sum(dim=1) + test[:, 2:].sum(dim=1)) % 2
before = swapped.before.output[:, 0].round()
as_wanted, as_before = ((answer == one).float().mean() for one in (wanted, before))
print(f"After swapping {found}: as it should in {as_wanted:.0%} of cases,")
print(f"and as before in {as_before:.0%}.")
