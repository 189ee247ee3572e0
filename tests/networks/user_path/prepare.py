"""Trains the head on 400 sentences, and writes inputs and labels of others."""

import sys

import numpy as np
import torch
from network import Classifier, tokenizer
from sentences import animal, negated, outcome, texts

N_TRAINED, n_kept = 400, int(sys.argv[1])
torch.manual_seed(0)
network = Classifier().eval()
inputs = dict(tokenizer(texts, padding=True, return_tensors="np"))
inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
rest = slice(N_TRAINED, N_TRAINED + n_kept)
np.savez("inputs.npz", **{name: values[rest] for name, values in inputs.items()})
np.savez("labels.npz", outcome=outcome[rest], animal=animal[rest], negated=negated[rest])
ids, mask = (torch.from_numpy(inputs[name][:N_TRAINED]) for name in inputs)
with torch.no_grad():
    hidden = network(ids, mask)["hidden"]
kept = mask[:, :, None].float()
x = (hidden * kept).sum(1) / kept.sum(1)
y = torch.from_numpy(outcome[:N_TRAINED]).float()
adam = torch.optim.Adam(network.head.parameters(), lr=3e-3)
for _ in range(400):
    loss = torch.nn.functional.binary_cross_entropy_with_logits(network.head(x)[:, 0], y)
    adam.zero_grad()
    loss.backward()
    adam.step()
torch.save(network.head.state_dict(), "head.pt")
