"""`FactorGraph`: the bipartite acyclic graph of variables and factors, X → Z → X."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from ucad._types import BooleanMatrix, LayerOf, VariablesByFactors
from ucad.errors import InvalidInputError, did_you_mean
from ucad.graph.boolean import boolean_product, has_anchors, in_anchors, out_anchors
from ucad.notebook import paragraph, table

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["FactorGraph", "topological_levels"]


def topological_levels(adjacency: BooleanMatrix) -> Int[np.ndarray, " nodes"] | None:
    """The length of the longest path that ends in each node, or None if there is a cycle.

    A row is a cause. O(depth · nodes²).

    >>> topological_levels(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool))
    array([0, 1, 2])
    """
    levels = np.zeros(len(adjacency), dtype=np.int64)
    left = np.ones(len(adjacency), dtype=bool)
    for level in range(len(adjacency)):
        ready = left & ~adjacency[left].any(axis=0)
        if not ready.any():
            break
        levels[ready] = level
        left &= ~ready
    return None if left.any() else levels


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """An f-DAG: which variables make each factor (Q) and which variables each factor makes (R).

    >>> graph = FactorGraph(
    ...     Q=np.array([[1, 0], [0, 1], [0, 0]], dtype=bool),
    ...     R=np.array([[0, 0], [1, 0], [0, 1]], dtype=bool),
    ... )
    >>> graph.factor_adjacency.astype(int)
    array([[0, 1],
           [0, 0]])
    >>> graph.low_level_parents("X3")
    ('X2',)

    Attributes:
        Q: Q[i, k] is True where variable i is a parent of factor k.
        R: R[j, k] is True where variable j is a child of factor k.
        variable_names: `X1`, `X2`, … if not given.
        factor_names: `Z1`, `Z2`, … if not given (`F1`, … where variables are called Z1).
    """

    Q: VariablesByFactors
    R: VariablesByFactors
    variable_names: tuple[str, ...] = ()
    factor_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n_variables, n_factors = self.Q.shape
        if self.R.shape != self.Q.shape:
            raise InvalidInputError(
                f"'Q' and 'R' must have the same shape. Got {self.Q.shape} and {self.R.shape}."
            )
        for name, letter, count in [
            ("variable_names", "X", n_variables),
            ("factor_names", self._factor_letter(), n_factors),
        ]:
            names = getattr(self, name) or tuple(f"{letter}{i}" for i in range(1, count + 1))
            if len(names) != count:
                raise InvalidInputError(f"'{name}' must have {count} names. Got {len(names)}.")
            object.__setattr__(self, name, names)
        for name in ("Q", "R"):
            array = getattr(self, name).copy()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check()

    def _check(self) -> None:
        names = (*self.variable_names, *self.factor_names)
        if len(set(names)) != len(names):
            doubled = sorted({name for name in names if names.count(name) > 1})
            raise InvalidInputError(
                f"Names of variables and factors must differ. Twice: {doubled}."
            )
        both = np.argwhere(self.Q & self.R)
        if len(both):
            i, k = both[0]
            raise InvalidInputError(
                f"A variable cannot be parent and child of one factor. Got both for "
                f"'{self.variable_names[i]}' and '{self.factor_names[k]}'."
            )
        if topological_levels(self.factor_adjacency) is None:
            raise InvalidInputError(
                "The graph must be acyclic. Got a cycle through the factors "
                f"{', '.join(self._factors_on_cycles())}."
            )

    @property
    def n_variables(self) -> int:
        """The paper's n."""
        return len(self.variable_names)

    @property
    def n_factors(self) -> int:
        """The paper's m."""
        return len(self.factor_names)

    @cached_property
    def variable_adjacency(self) -> BooleanMatrix:
        """A = Q ⋄ Rᵀ, the graph G_L of the low level; a row is a cause."""
        return boolean_product(self.Q, self.R.T)

    @cached_property
    def factor_adjacency(self) -> BooleanMatrix:
        """B = Rᵀ ⋄ Q, the graph G_H of the high level; a row is a cause."""
        return boolean_product(self.R.T, self.Q)

    @cached_property
    def factor_level(self) -> Int[np.ndarray, " factors"]:
        """The length of the longest path of factors that ends in each factor."""
        levels = topological_levels(self.factor_adjacency)
        assert levels is not None, "checked when the graph was made"
        return levels

    @cached_property
    def variable_level(self) -> Int[np.ndarray, " variables"]:
        """1 + the highest level among a variable's factors; 0 for a variable without parents."""
        return np.where(self.R, self.factor_level + 1, 0).max(axis=1, initial=0)

    @cached_property
    def factor_order(self) -> Int[np.ndarray, " factors"]:
        """A topological order of the factors."""
        return np.argsort(self.factor_level, kind="stable")

    @cached_property
    def in_anchors(self) -> VariablesByFactors:
        """Which variables have which factor as their only child."""
        return in_anchors(self.Q)

    @cached_property
    def out_anchors(self) -> VariablesByFactors:
        """Which variables have which factor as their only parent."""
        return out_anchors(self.R)

    @property
    def has_anchors(self) -> bool:
        """Whether the anchor assumption holds."""
        return has_anchors(self.Q, self.R)

    @property
    def roots(self) -> Int[np.ndarray, " roots"]:
        """The variables without parents."""
        return np.flatnonzero(~self.R.any(axis=1))

    def parents(self, node: str) -> tuple[str, ...]:
        """Pa_Z, the variables that make a factor, or Pa_X, the factors that make a variable."""
        if self._is_factor(node):
            return self._variables(self.Q[:, self.factor_index(node)])
        return self._factors(self.R[self.variable_index(node)])

    def children(self, node: str) -> tuple[str, ...]:
        """Ch_Z, the variables a factor makes, or Ch_X, the factors a variable takes part in."""
        if self._is_factor(node):
            return self._variables(self.R[:, self.factor_index(node)])
        return self._factors(self.Q[self.variable_index(node)])

    def low_level_parents(self, variable: str) -> tuple[str, ...]:
        """Pa^L_X, the parents of a variable once the factors are collapsed."""
        return self._variables(self.variable_adjacency[:, self.variable_index(variable)])

    def low_level_children(self, variable: str) -> tuple[str, ...]:
        """The children of a variable once the factors are collapsed."""
        return self._variables(self.variable_adjacency[self.variable_index(variable)])

    def high_level_parents(self, factor: str) -> tuple[str, ...]:
        """Pa^H_Z, the parents of a factor once the variables are collapsed."""
        return self._factors(self.factor_adjacency[:, self.factor_index(factor)])

    def high_level_children(self, factor: str) -> tuple[str, ...]:
        """The children of a factor once the variables are collapsed."""
        return self._factors(self.factor_adjacency[self.factor_index(factor)])

    def variable_index(self, name: str) -> int:
        """The position of a variable, by name."""
        return _position(name, self.variable_names, "variable")

    def factor_index(self, name: str) -> int:
        """The position of a factor, by name."""
        return _position(name, self.factor_names, "factor")

    def _is_factor(self, node: str) -> bool:
        """Whether a name is a factor's, and not a variable's; any other is refused."""
        if not isinstance(node, str) or node not in self.factor_names + self.variable_names:
            _position(str(node), self.factor_names + self.variable_names, "variable or factor")
        return node in self.factor_names

    def respects_layers(self, layer_of: LayerOf) -> bool:
        """Whether every parent of every factor lies in an earlier layer than all its children."""
        latest = np.where(self.Q, layer_of[:, None], -np.inf).max(axis=0, initial=-np.inf)
        first = np.where(self.R, layer_of[:, None], np.inf).min(axis=0, initial=np.inf)
        return bool((latest < first).all())

    def relabelled(self, order: Sequence[int] | Int[np.ndarray, " factors"]) -> FactorGraph:
        """Returns the same graph with factor `order[k]` in position k."""
        if sorted(order) != list(range(self.n_factors)):
            raise InvalidInputError(
                f"'order' must be a permutation of 0 … {self.n_factors - 1}. Got {list(order)}."
            )
        names = tuple(self.factor_names[k] for k in order)
        return FactorGraph(self.Q[:, order], self.R[:, order], self.variable_names, names)

    def is_same_up_to_relabelling(self, other: FactorGraph) -> bool:
        """Whether the graphs agree after a permutation of the factors; names don't count."""
        if self.Q.shape != other.Q.shape:
            return False
        mine, theirs = (sorted(np.concatenate([g.Q, g.R]).T.tolist()) for g in (self, other))
        return bool(mine == theirs)

    def to_networkx(self) -> nx.DiGraph:
        """The bipartite graph, nodes by name with the attribute `kind`, `variable` or `factor`."""
        import networkx as nx

        graph: nx.DiGraph = nx.DiGraph()
        graph.add_nodes_from(self.variable_names, kind="variable")
        graph.add_nodes_from(self.factor_names, kind="factor")
        for i, k in np.argwhere(self.Q):
            graph.add_edge(self.variable_names[i], self.factor_names[k])
        for j, k in np.argwhere(self.R):
            graph.add_edge(self.factor_names[k], self.variable_names[j])
        return graph

    def write_graphml(self, path: str | Path) -> None:
        """Writes the bipartite graph for Cytoscape, Gephi and the like."""
        import networkx as nx

        nx.write_graphml(self.to_networkx(), path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FactorGraph):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _repr_html_(self) -> str:
        rows = [
            [z, *map(_listed, (self.parents(z), self.children(z), self.high_level_children(z)))]
            for z in self.factor_names
        ]
        return paragraph(repr(self)) + table(["factor", "made from", "drives", "acts on"], rows)

    def __repr__(self) -> str:
        return (
            f"FactorGraph({self.n_variables} variables, {self.n_factors} factors, "
            f"{int(self.Q.sum())} + {int(self.R.sum())} edges)"
        )

    def _factor_letter(self) -> str:
        """The letter Z, or another where the user's own variables are called Z1, Z2 and so on."""
        taken = {name.rstrip("0123456789") for name in self.variable_names}
        return next(letter for letter in ("Z", "F", "factor ", "factor_") if letter not in taken)

    def _key(self) -> tuple[Any, ...]:
        names = (self.variable_names, self.factor_names)
        return (self.Q.shape, self.Q.tobytes(), self.R.tobytes(), *names)

    def _variables(self, which: np.ndarray) -> tuple[str, ...]:
        return tuple(self.variable_names[i] for i in np.flatnonzero(which))

    def _factors(self, which: np.ndarray) -> tuple[str, ...]:
        return tuple(self.factor_names[k] for k in np.flatnonzero(which))

    def _factors_on_cycles(self) -> tuple[str, ...]:
        reach = self.factor_adjacency
        for _ in range(self.n_factors):
            reach = reach | boolean_product(reach, reach)
        return self._factors(np.diagonal(reach))


def _position(name: str, names: Sequence[str], kind: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        raise InvalidInputError(
            f"There is no {kind} '{name}'.{did_you_mean(name, names)}"
        ) from None


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "nothing") + more
