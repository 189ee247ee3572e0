"""What interventions changed, as measured and as predicted, and who predicts it best."""

from __future__ import annotations

from ucad.effects.measured import MeasuredChanges, measured_changes
from ucad.effects.predictions import RegimePredictions, predict_regimes

__all__ = ["MeasuredChanges", "RegimePredictions", "measured_changes", "predict_regimes"]
