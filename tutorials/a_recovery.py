"""
Recover factors whose truth is known
====================================

A system of 16 variables and 3 factors is simulated (the paper's setting *e*: factors are nonlinear
in the variables, variables are linear in the factors, and everything is noisy). ucad sees the
samples and which variables were clamped in which of them, and nothing else.
"""

# %%
# Simulate
# --------
# The problem comes with its truth, which is only used to judge.
import ucad

problem = ucad.paper_problem("e", "16-3", seed=4, n_samples=6000)
print(problem.train)
print("true graph:", problem.scm.graph)

# %%
# Fit
# ---
# Neither the number of factors nor the class of mechanisms is told.
model = ucad.UCAD().fit(problem.train)
for factor in model.graph_.factor_names:
    made_of, makes = model.graph_.parents(factor), model.graph_.children(factor)
    print(factor, "is made from", *made_of, "and drives", *makes)

# %%
# Compare with the truth
# ----------------------
# MCC matches learned with true factors one to one, and takes the mean of their correlations. A true
# factor that nothing was found for counts 0. The chance level is what permuted samples would give.
from ucad.metrics import evaluate

learned = model.transform(problem.test.x)
table = evaluate(learned, problem.factors, metrics=("mcc_pearson", "r2_linear"))
print(table)

# %%
# The graph, by edges that are right, missing, extra or reversed:
from ucad.metrics import compare_structure

found, true = model.graph_, problem.scm.graph
print(compare_structure((found.Q, found.R), (true.Q, true.R)))

# %%
# What may be claimed
# -------------------
# The certificate was made on samples that took no part in the fit.
print(model.certificate_.answers)

# %%
# The picture
# -----------
# Causes stand to the left. Factors act linearly here: blue edges raise a variable, orange ones
# lower it. Edges into factors are not linear and have no single sign; they are blue, too.
from ucad.report.figures import graph_figure

figure = graph_figure(model.scm_)
