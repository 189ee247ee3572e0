"""Controls: what else could have steered the network as well, on the same pairs of inputs."""

from __future__ import annotations

from ucad.networks.controls.bench import Bench, Gap
from ucad.networks.controls.decoders import Decoders, fit_decoders
from ucad.networks.controls.scores import ControlScore, Role, Verdict

__all__ = ["Bench", "ControlScore", "Decoders", "Gap", "Role", "Verdict", "fit_decoders"]
