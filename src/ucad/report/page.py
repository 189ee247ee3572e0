"""`write_report`: a fitted model as one HTML page that needs no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ucad.claims import ASSUMED, CLAIMABLE, Certificate
from ucad.claims.answers import WORST_FIRST, Answer
from ucad.consensus.support import Support
from ucad.data import InterventionalData
from ucad.effects import RegimePredictions
from ucad.effects.predictions import METHODS
from ucad.errors import FormatError, InvalidInputError
from ucad.files import read_text, write_text
from ucad.gene_sets import Enrichment
from ucad.report.charts import Curve, HeatMap, curves, heat_map, line_chart
from ucad.report.formatting import MOST_ROWS, template_environment
from ucad.report.payload import embedded, page_data
from ucad.report.scatter import prediction_scatter
from ucad.report.stages import stages_of, training_of
from ucad.report.strengths import EdgeStrengths, edge_strengths
from ucad.report.support_panel import panel, sentence_mark
from ucad.report.words import correlates, factor_sentence, overview
from ucad.scm import FactorSCM

__all__ = ["ReportContent", "is_report", "render", "write_report"]

_MARK = '<p class="kicker">Causal abstraction report</p>'
"""What every report has, and hardly anything else."""

PARTS = (
    *("summary", "graph", "certificate", "stability", "regimes", "effects"),
    *("metrics", "matrices", "gene_sets", "fit", "provenance"),
)
"""The sections in the order to read them, each a template: a new one is a file and a name here."""

OF_FACTORS = ("graph", "effects", "matrices")
"""Sections that a model without factors does without."""

MAIN_METRICS = (
    *("mcc_pearson", "r2_linear", "structure_shd", "structure_exact"),
    *("structure_precision_A", "structure_recall_A"),
)
"""The scores that are shown at once; others are folded."""

_MARKS = {"yes": "✓", "partly": "◐", "no": "✗", "not known": "?"}


@dataclass(frozen=True, kw_only=True)
class ReportContent:
    """What a report tells of.

    Attributes:
        title: the heading of the page.
        scm: the model.
        data: measurements in the units of the model, for scales, correlations and effects.
        n_samples: how many samples the model was fitted to, if `data` are only some of them.
        certificate: what may be claimed, if that was checked.
        status: how the fit ended, as the JSON of its status.
        history: numbers along the fit, one row per epoch or step; may have a `stage`.
        metrics: the JSON of an evaluation table, or its rows: metric, value, low, high, chance.
        provenance: what it takes to repeat it: versions, seed, command, fingerprint; what is a
            mapping in it is folded.
        regimes: predicted and measured changes of every regime, if they are to be shown.
        enrichment: gene sets that factors are enriched in, if there were any to test.
        support: how often each factor and edge came back, if that was tried.
        factors: what was found for every number of factors, as the JSON of a `FactorPath`.
    """

    title: str
    scm: FactorSCM
    data: InterventionalData
    n_samples: int | None = None
    certificate: Certificate | None = None
    status: Mapping[str, Any] | None = None
    history: Sequence[Mapping[str, Any]] = ()
    metrics: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    regimes: RegimePredictions | None = None
    enrichment: Enrichment | None = None
    support: Support | None = None
    factors: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.data.variable_names != self.scm.graph.variable_names:
            raise InvalidInputError(
                "The 'data' of a ReportContent must have the variables of its 'scm', in the same "
                f"order. Got {self.data.n_variables} against {self.scm.graph.n_variables}, or "
                "other names."
            )


def write_report(content: ReportContent, path: str | Path) -> Path:
    """Writes the page in one step and returns where it is."""
    path = Path(path)
    write_text(path, render(content))
    return path


def is_report(path: Path) -> bool:
    """Whether a file is a page that `write_report` wrote."""
    try:
        return _MARK in read_text(path)
    except FormatError:
        return False


def render(content: ReportContent) -> str:
    """The page as text: everything it needs is in it, and every name is escaped."""
    scm, data = content.scm, content.data
    graph, strengths = scm.graph, edge_strengths(scm, data)
    script, cytoscape = asset("page.js"), asset("cytoscape.min.js")
    payload = page_data(scm, data, strengths, content.support)
    return (
        template_environment(asset)
        .get_template("page.html.j2")
        .render(
            content=content,
            graph=graph,
            parts=_parts(has_factors=graph.n_factors > 0),
            overview=overview(graph, data, content.n_samples),
            sentences=[
                (
                    name,
                    factor_sentence(graph, name, strengths) + sentence_mark(content.support, name),
                )
                for name in graph.factor_names
            ],
            support=None if content.support is None else panel(content.support),
            payload=Markup(embedded(payload)),
            effects=payload["effects"],
            strongest=_strongest(payload["effects"]),
            many=payload["many"],
            unused=len(payload["unused"]),
            heat_maps=_heat_maps(scm, strengths),
            correlates=correlates(scm, data),
            methods=METHODS,
            factor_sets={} if content.enrichment is None else content.enrichment.names,
            most=MOST_ROWS,
            css=Markup(asset("page.css")),
            policy=_policy(cytoscape, script),
            script=Markup(script),
            cytoscape=Markup(cytoscape),
            **_figures(content),
            **_provenance(content.provenance),
            **_claims(content.certificate),
        )
    )


def _strongest(effects: Sequence[Mapping[str, Any]]) -> int:
    """The clamp that changes most, to be shown first: in the sum over factors and variables."""
    sizes = [
        sum(abs(high) for _, high in one["factors"]) + sum(abs(row[2]) for row in one["affected"])
        for one in effects
    ]
    return max(range(len(sizes)), key=sizes.__getitem__, default=0)


def _parts(*, has_factors: bool) -> list[str]:
    shown = [name for name in PARTS if has_factors or name not in OF_FACTORS]
    return [f"parts/{name}.html.j2" for name in shown]


def _figures(content: ReportContent) -> dict[str, Any]:
    """What is drawn of a fit and of its predictions, and the table of metrics."""
    scatter = None if content.regimes is None else prediction_scatter(content.regimes)
    metrics, notes = _metric_rows(content.metrics)
    drawn = curves(training_of(content.history))
    return {
        "charts": [(curve, Markup(line_chart(curve))) for curve in drawn],
        "stages": stages_of(content.history),
        "factor_chart": _factor_chart(content.factors),
        "scatter": None if scatter is None else Markup(scatter.svg),
        "held_out_regimes": content.regimes is not None and not content.regimes.is_seen.all(),
        "scatter_left": 0 if scatter is None else scatter.left_out,
        "metrics": metrics,
        "metric_notes": notes,
        "main_metrics": sum(row["metric"] in MAIN_METRICS for row in metrics) or len(metrics),
    }


def _provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown at once, and groups that are folded; what is empty is left out."""
    groups = {name: one for name, one in provenance.items() if isinstance(one, Mapping)}
    return {
        "single_provenance": {n: one for n, one in provenance.items() if n not in groups},
        "grouped_provenance": {name: one for name, one in groups.items() if one},
    }


def _claims(certificate: Certificate | None) -> dict[str, Any]:
    """What may be claimed, the worst answers first; questions answered with yes stand apart."""
    known = {"assumed": ASSUMED, "marks": _MARKS}
    if certificate is None:
        return known
    asked = sorted(certificate.claims, key=lambda claim: WORST_FIRST.index(claim.answer))
    grouped: dict[tuple[Answer, tuple[str, ...]], list[str]] = {}
    for one in sorted(certificate.permissions, key=lambda one: WORST_FIRST.index(one.answer)):
        grouped.setdefault((one.answer, one.conditions), []).append(CLAIMABLE[one.what])
    return known | {
        "permissions": [(*key, names) for key, names in grouped.items()],
        "open_claims": [claim for claim in asked if claim.answer is not Answer.YES],
        "good_claims": [claim for claim in asked if claim.answer is Answer.YES],
    }


def _policy(*scripts: str) -> str:
    """The Content-Security-Policy: our own scripts, by digest, and nothing from elsewhere."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def asset(name: str) -> str:
    """The text of one of the page's files."""
    return (
        resources.files("ucad.report")
        .joinpath("assets", *name.split("/"))
        .read_text(encoding="utf-8")
    )


def _heat_maps(scm: FactorSCM, strengths: EdgeStrengths) -> dict[str, Markup]:
    graph = scm.graph
    names = (graph.variable_names, graph.factor_names)
    maps = {
        "Q": HeatMap(graph.Q, strengths.into, strengths.into_mixed, *names),
        "R": HeatMap(graph.R, strengths.out_of, strengths.out_of_mixed, *names),
    }
    labels = {"Q": "Which variables make each factor", "R": "Which variables each factor drives"}
    return {
        name: Markup(heat_map(content, graph.factor_order, labels[name]))
        for name, content in maps.items()
    }


def _factor_chart(factors: Mapping[str, Any] | None) -> Markup | None:
    """The held-out NLL over the number of factors, with one standard error on either side."""
    if factors is None or len(factors["steps"]) < 2:
        return None
    x = [float(step["n_factors"]) for step in factors["steps"]]
    nll, error = (
        [float(step[name]) for step in factors["steps"]] for name in ("nll", "standard_error")
    )
    series = [("NLL", x, nll)]
    for name, sign in (("one standard error more", 1), ("one standard error less", -1)):
        series.append((name, x, [a + sign * b for a, b in zip(nll, error, strict=True)]))
    return Markup(line_chart(Curve("Held-out NLL", "number of factors", series)))


def _metric_rows(
    metrics: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of a table of metrics, with nothing missing, and its notes."""
    if metrics is None:
        return [], []
    table = metrics if isinstance(metrics, Mapping) else {"scores": metrics}
    empty = dict.fromkeys(("value", "low", "high", "chance"))
    rows = [{**empty, "detail": "", **row} for row in table.get("scores", ())]
    rows.sort(key=lambda row: row["metric"] not in MAIN_METRICS)
    return rows, [str(note) for note in table.get("notes", ())]
