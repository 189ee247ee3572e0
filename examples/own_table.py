"""From a table to a claim: make a csv, look at it, fit, and ask what may be claimed."""

from pathlib import Path

import numpy as np

import ucad

rng = np.random.default_rng(0)
n = 3000
a, b = rng.standard_normal((2, n))
target = np.array([""] * (n - 400) + ["a"] * 200 + ["b"] * 200, dtype=object)
a[target == "a"], b[target == "b"] = -3.0, 3.0
z = a - 2 * b  # the factor that nobody measured
children = [weight * z + rng.standard_normal(n) for weight in (1.0, -0.5, 2.0)]
rows = zip(a, b, *children, target, strict=True)
lines = ["a,b,c,d,e,clamped", *(",".join(map(str, row)) for row in rows)]
Path("table.csv").write_text("\n".join(lines), encoding="utf-8")

data = ucad.read("table.csv", target="clamped")
print(data.summary())
model = ucad.UCAD().fit(data)
for factor in model.graph_.factor_names:
    print(factor, "=", *model.graph_.parents(factor), "→", *model.graph_.children(factor))
print(model.certificate_.verdict)
model.save("run")
