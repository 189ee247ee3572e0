"""
A knock-out screen, from a table to a claim
===========================================

A table has one column per variable and one that says what was acted on in each sample. Here it is
simulated, 30 variables of which 10 are knocked out in turn, and written to a file, so that you can
put your own in its place.
"""

# %%
# A file
# ------
import tempfile
from pathlib import Path

import ucad
from ucad.simulate import world_problem

world = world_problem("screen", seed=5)
path = Path(tempfile.mkdtemp(), "screen.csv")
ucad.write(world.train, path)
print(path.read_text().splitlines()[0][:70], "…")

# %%
# Look before you fit
# -------------------
# Which samples are controls, what each regime acts on, what was left out and why.
data = ucad.read(path)
print(data.summary())

# %%
# How many factors?
# -----------------
# For every number of factors, how likely held-out samples are, and what is left unexplained.
path_over_m = ucad.UCAD().factor_path(data, last=4)
print(path_over_m.recommendation)

# %%
# Fit, and ask what may be claimed
# --------------------------------
model = ucad.UCAD().fit(data)
print(model.graph_)
print(model.certificate_.answers)

# %%
# What does a knock-out do?
# -------------------------
# At the low level, variable by variable; and at the high level, through ω.
cause = model.graph_.parents("Z1")[0]
before = model.scm_.sample(4000).x.mean(dim=0)
after = model.scm_.do({cause: -3.0}).sample(4000).x.mean(dim=0)
moved = (after - before).abs().argsort(descending=True)[:5]
print(f"do({cause} = -3) moves most:", *[data.variable_names[int(i)] for i in moved])
omega = model.abstraction_.intervention_map({cause: -3.0})
print("and acts on the factors", *sorted(omega.support))

# %%
# Every regime of the screen, predicted and measured:
import textwrap

for sentence in model.predict_regimes(data).verdicts:
    print(textwrap.fill(sentence, 79))

# %%
# The map from variables to factors and back
# ------------------------------------------
from ucad.report.figures import heat_map_figure

figure = heat_map_figure(model.scm_)
