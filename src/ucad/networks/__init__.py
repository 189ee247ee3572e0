"""A trained network is a low-level SCM: record and clamp its units, and steer its factors."""

from __future__ import annotations

from ucad.networks.concepts import ConceptScore, ConceptTable, concept_table
from ucad.networks.features import Feature, covariates_of, features_of, hybrid
from ucad.networks.interchange import (
    InterchangeScore,
    SwapPairs,
    decision,
    expected_by_lookup,
    factor_swap,
    interchange_score,
    swap_pairs,
)
from ucad.networks.passes import Inputs, forward, undisturbed
from ucad.networks.placebos import (
    PlaceboScore,
    placebo_score,
    random_direction_swaps,
    random_factor_swaps,
    random_linear_factors,
    random_live_units,
    random_rotations,
    rotated_factor_swaps,
    untrained_like,
)
from ucad.networks.predictions import (
    Agreement,
    DoseResponse,
    agreement,
    decoded_accuracy,
    dose_response,
)
from ucad.networks.recording import (
    Activation,
    Recording,
    RecordSettings,
    load_recording,
    record,
)
from ucad.networks.sites import Pooling, Site
from ucad.networks.steering import Steered, Steering, Swapped
from ucad.networks.steering_table import SteeringSettings, SteeringTable, steering_table
from ucad.networks.subspaces import SubspaceSettings, SubspaceSwap, learn_subspace

__all__ = [
    "Activation",
    "Agreement",
    "ConceptScore",
    "ConceptTable",
    "DoseResponse",
    "Feature",
    "Inputs",
    "InterchangeScore",
    "PlaceboScore",
    "Pooling",
    "RecordSettings",
    "Recording",
    "Site",
    "Steered",
    "Steering",
    "SteeringSettings",
    "SteeringTable",
    "SubspaceSettings",
    "SubspaceSwap",
    "SwapPairs",
    "Swapped",
    "agreement",
    "concept_table",
    "covariates_of",
    "decision",
    "decoded_accuracy",
    "dose_response",
    "expected_by_lookup",
    "factor_swap",
    "features_of",
    "forward",
    "hybrid",
    "interchange_score",
    "learn_subspace",
    "load_recording",
    "placebo_score",
    "random_direction_swaps",
    "random_factor_swaps",
    "random_linear_factors",
    "random_live_units",
    "random_rotations",
    "record",
    "rotated_factor_swaps",
    "steering_table",
    "swap_pairs",
    "undisturbed",
    "untrained_like",
]
