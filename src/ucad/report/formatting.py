"""How values become text on the page: the filters of its template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import jinja2

from ucad.report.words import cut

__all__ = ["MOST_ROWS", "template_environment"]

MOST_ROWS = 200
"""How much of a long list the page shows; the rest is in the files of the run."""

MIN_WHOLE, MAX_WHOLE = 1e4, 1e9
"""Sizes of numbers that are shown whole, with commas: smaller ones fit into four digits, larger
ones need a power of ten."""

_METRICS = {
    "mcc_pearson": "Agreement of matched factors (MCC, Pearson)",
    "mcc_spearman": "Agreement of matched factors, in rank (MCC, Spearman)",
    "mcc_rdc": "Agreement of matched factors up to any one-to-one map (MCC, RDC)",
    "r2_linear": "True factors explained, linearly (R²)",
    "r2_mlp": "True factors explained, by a network (R²)",
    "cae_up": "Abstraction error, interventions drawn on variables (CAE↑; 0 is exact)",
    "cae_down": "Abstraction error, interventions drawn on factors (CAE↓; 0 is exact)",
    "dci_disentanglement": "Each learned factor tells of one true factor (DCI disentanglement)",
    "dci_completeness": "Each true factor is in one learned factor (DCI completeness)",
    "dci_informativeness": "True factors predictable from learned ones (DCI informativeness)",
    "structure_shd": "Edges of Q and R that are wrong (structural Hamming distance)",
    "structure_shd_A": "Edges between variables that are wrong (structural Hamming distance)",
    "structure_precision_Q": "Variables found to feed a factor that do (precision)",
    "structure_recall_Q": "Variables that feed a factor that were found (recall)",
    "structure_precision_R": "Variables found to be driven by a factor that are (precision)",
    "structure_recall_R": "Variables driven by a factor that were found (recall)",
    "structure_precision_A": "Edges between variables found that are right (precision)",
    "structure_recall_A": "Edges between variables that were found (recall)",
    "structure_exact": "The graph is exactly right (1 is yes)",
    "nll_observational": "How unlikely samples without any clamp are (NLL; lower is better)",
    "nll_interventional": "How unlikely samples with clamps are (NLL; lower is better)",
    "structure_anchors_right": "Every anchor is right (1 is yes)",
}


def template_environment(load: Callable[[str], str]) -> jinja2.Environment:
    """An environment that escapes everything and refuses unknown names; `load` finds templates."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "capitalise": _capitalised,
        "cut": cut,
        "metric": _metric,
        "number": _number,
        "plain": _plain,
        "signed": _signed,
        "words": _words,
    }
    environment.tests["tabular"] = _is_tabular
    return environment


def _is_tabular(value: object) -> bool:
    """Whether a value is a list of rows that share their columns."""
    return (
        isinstance(value, Sequence)
        and bool(value)
        and all(isinstance(row, Mapping) and list(row) == list(value[0]) for row in value)
    )


def _plain(value: object) -> str:
    """Anything that JSON can hold, in one line.

    >>> _plain({"X1": 0.93, "X2": 0.21}), _plain([["X1", "X2"], ["X3", "X4"]]), _plain([])
    ('X1 0.93, X2 0.21', 'X1 → X2, X3 → X4', 'none')
    """
    if isinstance(value, Mapping):
        return _joined([f"{key} {_plain(inner)}" for key, inner in value.items()])
    if isinstance(value, Sequence) and not isinstance(value, str):
        pairs = [
            " → ".join(map(_plain, inner)) if isinstance(inner, list | tuple) else _plain(inner)
            for inner in value
        ]
        return _joined(pairs)
    return _number(value)


def _joined(parts: list[str]) -> str:
    more = f" and {len(parts) - MOST_ROWS} more" if len(parts) > MOST_ROWS else ""
    return (", ".join(parts[:MOST_ROWS]) or "none") + more


def _number(value: object) -> str:
    """A number, a yes or no, or anything else as a reader wants it.

    >>> _number(12345), _number(12916.4), _number(-0.123456), _number(True), _number(None)
    ('12,345', '12,916', '−0.1235', 'yes', '—')
    """
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    whole = MIN_WHOLE <= abs(value) < MAX_WHOLE
    return f"{value:,.0f}".replace("-", "−") if whole else f"{value:.4g}".replace("-", "−")


def _words(key: object) -> str:
    """A key of ours as words; what is not all lower case is a symbol and stays.

    >>> _words("n_samples"), _words("F_Z")
    ('n samples', 'F_Z')
    """
    text = str(key)
    return text.replace("_", " ") if text.islower() else text


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _metric(name: str) -> str:
    return _METRICS.get(name, _words(name))


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
