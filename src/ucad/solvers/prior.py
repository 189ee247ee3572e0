"""What is known of the graph before any data: edges that must be, and edges that cannot be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ucad._types import VariablesByFactors
from ucad.errors import InvalidInputError, did_you_mean
from ucad.files import read_toml
from ucad.gene_sets import read_gene_sets

__all__ = ["PriorKnowledge", "read_prior"]


KINDS = ("required_parent", "required_child", "forbidden_parent", "forbidden_child")
LISTS = ("required", "forbidden", "anchors")

NOT_GIVEN: Any = None
"""Stands for an array without a True, of the shape of the arrays that are given."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PriorKnowledge:
    """Required and forbidden edges between variables and factors; what is not given is unknown.

    An in-anchor of factor k is a required parent of k that is forbidden to all other factors; see
    `with_anchors`.

    >>> one = np.array([[True], [False]])
    >>> PriorKnowledge(required_parent=one, forbidden_child=one).shape
    (2, 1)

    Attributes:
        required_parent: entry [i, k] says that variable i is a parent of factor k.
        required_child: entry [j, k] says that variable j is a child of factor k.
        forbidden_parent: entry [i, k] says that variable i is not a parent of factor k.
        forbidden_child: entry [j, k] says that variable j is not a child of factor k.
    """

    required_parent: VariablesByFactors = NOT_GIVEN
    required_child: VariablesByFactors = NOT_GIVEN
    forbidden_parent: VariablesByFactors = NOT_GIVEN
    forbidden_child: VariablesByFactors = NOT_GIVEN

    def __post_init__(self) -> None:
        missing = [name for name in KINDS if getattr(self, name) is None]
        shapes = {getattr(self, name).shape for name in KINDS if name not in missing}
        if len(shapes) != 1:
            raise InvalidInputError(
                "The arrays of PriorKnowledge must have one shape, variables × factors, and at "
                f"least one must be given. Got {sorted(shapes)} instead."
            )
        (shape,) = shapes
        for name in missing:
            object.__setattr__(self, name, np.zeros(shape, dtype=bool))
        clash = self.required_parent & (self.forbidden_parent | self.required_child)
        if (clash | (self.required_child & self.forbidden_child)).any():
            raise InvalidInputError(
                "PriorKnowledge requires an edge that it also forbids, or one variable as both "
                "parent and child of a factor. Take one of the two entries out."
            )

    @classmethod
    def with_anchors(
        cls, in_anchor: VariablesByFactors, out_anchor: VariablesByFactors
    ) -> PriorKnowledge:
        """Knowledge of anchors: each belongs to its factor and to no other."""
        return cls(
            required_parent=in_anchor,
            required_child=out_anchor,
            forbidden_parent=in_anchor.any(axis=1, keepdims=True) & ~in_anchor,
            forbidden_child=out_anchor.any(axis=1, keepdims=True) & ~out_anchor,
        )

    @classmethod
    def from_edges(
        cls,
        variable_names: Sequence[str],
        n_factors: int,
        *,
        required: Sequence[str] = (),
        forbidden: Sequence[str] = (),
        anchors: Sequence[str] = (),
    ) -> PriorKnowledge:
        """Knowledge in words: edges written `cause -> effect`, factors by number as Z1.

        An anchor is a required edge whose variable has no other such edge: `A -> Z1` says that A
        is a parent of Z1 and of no other factor, `Z1 -> B` that B is a child of Z1 and of no other.

        >>> prior = PriorKnowledge.from_edges(["A", "B"], 2, anchors=["A -> Z1"])
        >>> prior.required_parent.tolist(), prior.forbidden_parent.tolist()
        ([[True, False], [False, False]], [[False, True], [False, False]])
        """
        known, barred, alone = (
            _edges(texts, variable_names, n_factors) for texts in (required, forbidden, anchors)
        )
        anchored = cls.with_anchors(*alone)
        return cls(
            required_parent=known[0] | anchored.required_parent,
            required_child=known[1] | anchored.required_child,
            forbidden_parent=barred[0] | anchored.forbidden_parent,
            forbidden_child=barred[1] | anchored.forbidden_child,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of variables and of factors."""
        rows, columns = self.required_parent.shape
        return int(rows), int(columns)

    def check_shape(self, n_variables: int, n_factors: int) -> None:
        """Refuses knowledge about another number of variables or factors."""
        if self.shape != (n_variables, n_factors):
            raise InvalidInputError(
                f"The prior knowledge must be about {n_variables} variables and {n_factors} "
                f"factors. Got {self.shape[0]} and {self.shape[1]} instead."
            )

    def for_factors(self, n_factors: int) -> PriorKnowledge:
        """The same knowledge among more factors, of which nothing is known."""
        more = n_factors - self.shape[1]
        if more < 0:
            raise InvalidInputError(
                f"The prior knowledge names {self.shape[1]} factors, so that there are no fewer. "
                f"Got {n_factors} instead."
            )
        wider = ((0, 0), (0, more))
        return PriorKnowledge(**{name: np.pad(part, wider) for name, part in self._parts().items()})

    def merged(self, variable: Int[np.ndarray, " columns"]) -> PriorKnowledge:
        """The same about variables, where it speaks of columns and some hold the same variable."""
        n_variables = int(variable.max()) + 1
        if self.shape[0] != len(variable) or n_variables == len(variable):
            return self
        parts = {name: np.zeros((n_variables, self.shape[1]), dtype=bool) for name in KINDS}
        for name, part in self._parts().items():
            np.logical_or.at(parts[name], variable, part)
        return PriorKnowledge(**parts)

    def statements(self) -> tuple[tuple[str, int, int], ...]:
        """What is said, entry by entry: (kind, variable, factor)."""
        return tuple(
            (name, int(i), int(k))
            for name, part in self._parts().items()
            for i, k in np.argwhere(part)
        )

    def __repr__(self) -> str:
        said = ", ".join(f"{name}[{i}, {k}]" for name, i, k in self.statements())
        n_variables, n_factors = self.shape
        return f"PriorKnowledge({n_variables} variables, {n_factors} factors: {said or 'nothing'})"

    def relabelling(
        self, Q: VariablesByFactors, R: VariablesByFactors
    ) -> Int[np.ndarray, " factors"]:
        """For each factor named here the column of (Q, R) that agrees with it best."""
        from scipy.optimize import linear_sum_assignment

        wanted_Q = self.required_parent.astype(float) - self.forbidden_parent
        wanted_R = self.required_child.astype(float) - self.forbidden_child
        agreement = wanted_Q.T @ Q + wanted_R.T @ R
        _, columns = linear_sum_assignment(-agreement)
        return np.asarray(columns)

    def imposed_on(
        self, Q: VariablesByFactors, R: VariablesByFactors
    ) -> tuple[VariablesByFactors, VariablesByFactors]:
        """(Q, R) with forbidden edges taken out and required ones put in, column by column."""
        return (
            (Q & ~self.forbidden_parent & ~self.required_child) | self.required_parent,
            (R & ~self.forbidden_child & ~self.required_parent) | self.required_child,
        )

    def _parts(self) -> dict[str, VariablesByFactors]:
        return {name: getattr(self, name) for name in KINDS}


def read_prior(path: Path, variable_names: Sequence[str], n_factors: int | None) -> PriorKnowledge:
    """Reads prior knowledge from a TOML file of three lists, each of which may be left out.

    Without a number of factors it is about as many as it names.

    required = ["STAT1 -> Z1", "Z1 -> IRF1"]
    forbidden = ["Z2 -> STAT1"]
    anchors = ["JAK2 -> Z1", "Z2 -> GBP2"]

    With `gene_sets = "regulons.tsv"` (GMT or TSV, beside the file), `set:NAME` stands for all
    measured genes of a set: required = ["Z1 -> set:STAT1"].

    Raises:
        FormatError: if the file is no such file.
        InvalidInputError: if a variable or factor does not exist, or statements contradict.
    """
    lists = read_toml(path)
    source = lists.pop("gene_sets", None)
    if source is not None and not isinstance(source, str):
        raise InvalidInputError(
            f"'gene_sets' in '{path}' must name a file. Got {source!r} instead."
        )
    for name, texts in lists.items():
        if name not in LISTS:
            raise InvalidInputError(
                f"'{path}' has an unknown list '{name}'.{did_you_mean(name, LISTS)} Known are "
                f"{', '.join(LISTS)}."
            )
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InvalidInputError(
                f"The list '{name}' in '{path}' must hold texts like \"A -> Z1\". "
                f"Got {texts!r} instead."
            )
    if not any(lists.values()):
        raise InvalidInputError(f"'{path}' must say something. Give one of {', '.join(LISTS)}.")
    if source is not None:
        sets = {one.name: one.genes for one in read_gene_sets(path.parent / source)}
        lists = {name: _with_sets(texts, sets, variable_names) for name, texts in lists.items()}
    if n_factors is None:
        texts = [text for some in lists.values() for text in some]
        named = [
            int(number) for text in texts for number in re.findall(r"\bZ([1-9][0-9]{0,3})\b", text)
        ]
        n_factors = max(named, default=1)
    return PriorKnowledge.from_edges(variable_names, n_factors, **lists)


def _with_sets(
    texts: Sequence[str], sets: Mapping[str, frozenset[str]], variable_names: Sequence[str]
) -> list[str]:
    """The texts, one for every measured gene where they speak of a set."""
    written = []
    for text in texts:
        found = re.search(r"set:(.+?)\s*(?:->|$)", text)
        if found is None:
            written.append(text)
            continue
        name = found[1]
        if name not in sets:
            raise InvalidInputError(f"There is no gene set '{name}'.{did_you_mean(name, sets)}")
        genes = [gene for gene in variable_names if gene in sets[name]]
        if not genes:
            raise InvalidInputError(f"No gene of the set '{name}' was measured.")
        written += [text.replace(f"set:{name}", gene, 1) for gene in genes]
    return written


def _edges(
    texts: Sequence[str], variable_names: Sequence[str], n_factors: int
) -> Bool[np.ndarray, "2 variables factors"]:
    """Parents, then children, as named by texts."""
    edges = np.zeros((2, len(variable_names), n_factors), dtype=bool)
    for text in texts:
        cause, arrow, effect = (part.strip() for part in text.partition("->"))
        ends = [_variable_and_factor(cause, effect, variable_names, n_factors)]
        ends += [_variable_and_factor(effect, cause, variable_names, n_factors)]
        found = [at for at, end in enumerate(ends) if end is not None]
        if not arrow or len(found) != 1:
            raise InvalidInputError(_not_an_edge(text, (cause, effect), variable_names, n_factors))
        edges[found[0]][ends[found[0]]] = True
    return edges


def _variable_and_factor(
    variable: str, factor: str, variable_names: Sequence[str], n_factors: int
) -> tuple[int, int] | None:
    number = re.fullmatch(r"Z([1-9][0-9]{0,3})", factor)
    if number is None or int(number[1]) > n_factors or variable not in variable_names:
        return None
    return list(variable_names).index(variable), int(number[1]) - 1


def _not_an_edge(
    text: str, ends: tuple[str, str], variable_names: Sequence[str], n_factors: int
) -> str:
    wanted = (
        f"The prior knowledge '{text}' must name one variable and one of the factors "
        f"Z1 … Z{n_factors}, as in '{variable_names[0]} -> Z1' or 'Z1 -> {variable_names[0]}'."
    )
    for end in ends:
        if end and end not in variable_names and not re.fullmatch(r"Z[0-9]+", end):
            return f"{wanted} There is no variable '{end}'.{did_you_mean(end, variable_names)}"
    return wanted
