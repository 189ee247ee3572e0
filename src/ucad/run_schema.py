"""What the JSON files of a run folder hold: everything that is loaded is checked against this."""

from __future__ import annotations

from types import NoneType

from ucad.schema import PLAIN, Optional

__all__ = ["FACTORS", "HISTORY", "METRICS", "RUN"]

_STATUS = {
    **dict.fromkeys(("converged", "feasible"), bool),
    "interrupted": Optional(bool),
    "reason": str,
    "violations": Optional({str: float}),
    **dict.fromkeys(
        ("removed_edges", "advice", "notes", "guesses", "soft_regimes"), Optional([str])
    ),
    "open_directions": Optional([[str]]),
}
_SETTINGS = {
    "n_factors": Optional((int, str)),
    **dict.fromkeys(
        (
            "solver",
            "factor_mechanism",
            "variable_mechanism",
            "device",
            "context_acts_on",
            "unmeasured",
        ),
        Optional(str),
    ),
    "measurement": Optional(str),
    "noise": Optional(str),
    "reads": Optional(str),
    "measurement_noise": Optional((float, [float], NoneType)),
    "standardise": Optional(bool),
    "validation_share": Optional(float),
    "random_state": Optional((int, str, NoneType)),
    "layers": Optional(([int], NoneType)),
    "n_runs": Optional(int),
    "n_jobs": Optional((int, NoneType)),
    "runs_on": Optional(str),
}
RUN = {
    "format": str,
    "schema_version": int,
    "created": str,
    "versions": {str: str},
    "settings": _SETTINGS,
    "data": {str: (*PLAIN, [int], [str], [float])},
    "status": _STATUS,
    "seconds": float,
}
HISTORY = [{str: PLAIN}]
FACTORS = {
    "n_factors": int,
    "plausible": [int],
    "reason": str,
    "mechanisms": {str: str},
    "is_held_out": bool,
    "cut_short": str,
    "seconds": float,
    "without_factors": ({str: PLAIN}, NoneType),
    "steps": [{str: PLAIN}],
}
METRICS = {
    "scores": [
        {
            "metric": str,
            **dict.fromkeys(("value", "low", "high", "chance"), Optional((float, NoneType))),
            "detail": Optional(str),
        }
    ],
    "notes": Optional([str]),
}
