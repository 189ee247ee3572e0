"""Regressions that all solvers share: masked moments, stepwise selection, least-squares fits."""
