"""`UCAD` keeps scikit-learn's contract: factors as features of a regression."""

from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import ucad

problem = ucad.paper_problem("b", "16-3", seed=3, n_samples=2000)
outcome = problem.scm.state_map(problem.train.x).numpy().sum(axis=1)
pipeline = make_pipeline(ucad.UCAD(3), LinearRegression())
pipeline.fit(problem.train.x, outcome, ucad__interventions=problem.train.is_intervened)
tested = problem.scm.state_map(problem.test.x).numpy().sum(axis=1)
print(f"R² {pipeline.score(problem.test.x, tested):.3f}")
