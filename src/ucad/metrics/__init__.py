"""How good are learned factors: functions of arrays that know nothing of models."""
