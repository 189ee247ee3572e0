"""A trained network is a low-level SCM: record and clamp its units, and steer its factors."""

from __future__ import annotations

from ucad.networks.attribution_graphs import read_attribution_graph, write_supernodes
from ucad.networks.concepts import ConceptScore, ConceptTable, concept_table
from ucad.networks.controls import ControlScore, Verdict
from ucad.networks.cost import RecordingCost, SteeringCost, recording_cost, steering_cost
from ucad.networks.decisions import Above, AllLabels, OneLabel, decide_by, decision
from ucad.networks.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ucad.networks.features import Feature, covariates_of, features_of, hybrid
from ucad.networks.fitting import NetworkFit, NetworkSettings, fit_network
from ucad.networks.interchange import (
    InterchangeScore,
    SwapPairs,
    expected_by_lookup,
    factor_swap,
    interchange_score,
    swap_pairs,
)
from ucad.networks.outputs import output_reader, tensor_output
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
from ucad.networks.readouts import readouts
from ucad.networks.recording import (
    Activation,
    Recording,
    RecordSettings,
    load_recording,
    record,
)
from ucad.networks.sites import Pooling, Site
from ucad.networks.steering import Steered, Steering, Swapped
from ucad.networks.steering_table import (
    ConceptSteering,
    SteeringSettings,
    SteeringTable,
    steering_table,
)
from ucad.networks.subspaces import SubspaceSettings, SubspaceSwap, learn_subspace
from ucad.networks.supernodes import group_nodes

__all__ = [
    "Above",
    "Activation",
    "Agreement",
    "AllLabels",
    "ConceptScore",
    "ConceptSteering",
    "ConceptTable",
    "ControlScore",
    "Diagnosis",
    "DiagnosisSettings",
    "DoseResponse",
    "Feature",
    "Inputs",
    "InterchangeScore",
    "NetworkFit",
    "NetworkSettings",
    "OneLabel",
    "PlaceboScore",
    "Pooling",
    "RecordSettings",
    "Recording",
    "RecordingCost",
    "Site",
    "Steered",
    "Steering",
    "SteeringCost",
    "SteeringSettings",
    "SteeringTable",
    "SubspaceSettings",
    "SubspaceSwap",
    "SwapPairs",
    "Swapped",
    "Verdict",
    "agreement",
    "concept_table",
    "covariates_of",
    "decide_by",
    "decision",
    "decoded_accuracy",
    "diagnose",
    "dose_response",
    "expected_by_lookup",
    "factor_swap",
    "features_of",
    "fit_network",
    "forward",
    "group_nodes",
    "hybrid",
    "interchange_score",
    "learn_subspace",
    "load_recording",
    "output_reader",
    "placebo_score",
    "random_direction_swaps",
    "random_factor_swaps",
    "random_linear_factors",
    "random_live_units",
    "random_rotations",
    "read_attribution_graph",
    "readouts",
    "record",
    "recording_cost",
    "rotated_factor_swaps",
    "steering_cost",
    "steering_table",
    "swap_pairs",
    "tensor_output",
    "undisturbed",
    "untrained_like",
    "write_supernodes",
]
