"""The parts of the data: to learn from, to choose by, and for claims alone."""

from __future__ import annotations

from typing import NamedTuple

from ucad.claims.samples import MIN_SAMPLES_TO_HOLD_OUT
from ucad.data import InterventionalData
from ucad.data.checks import check_fittable, check_informative
from ucad.errors import InvalidInputError
from ucad.parameters import as_number

__all__ = ["Parts", "parts_of"]

MIN_VALIDATION_SAMPLES = 20
"""Held-out samples below which all samples serve as both parts."""

UNSEEN_SHARE = 0.25
"""The part of the samples not used for validation on which claims are tested, and nothing else."""


class Parts(NamedTuple):
    """Parts of the data; with few samples the first two are the same.

    Attributes:
        train: what models are fitted to.
        validation: what chooses between models.
        unseen: what only the certificate sees; None with few samples.
    """

    train: InterventionalData
    validation: InterventionalData
    unseen: InterventionalData | None


def parts_of(
    data: InterventionalData, validation_share: float, seed: int, *, chooses: bool = True
) -> Parts:
    """Splits the data, within regimes; where nothing is chosen, validation is part of training.

    Raises:
        InvalidInputError: if the share makes no sense, or leaves too little to learn from.
    """
    share = as_number(validation_share, "validation_share", "at least 0 and below 1", 0.0, 1.0)
    if data.n_samples > 1 and data.n_samples * (1 - share) < 1:
        raise InvalidInputError(
            f"A 'validation_share' of {share} leaves nothing of {data.n_samples} samples to learn "
            "from."
        )
    if data.n_samples * share < MIN_VALIDATION_SAMPLES:
        return Parts(data, data, None)
    unseen = UNSEEN_SHARE * (1 - share) if data.n_samples >= MIN_SAMPLES_TO_HOLD_OUT else 0.0
    share = share if chooses else 0.0
    parts = data.split(1 - share - unseen, share, unseen, seed=seed)
    try:
        check_fittable(parts.train.x, data.variable_names)
        check_informative(parts.train.x, parts.train.is_intervened, data.variable_names)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"A 'validation_share' of {share} leaves {parts.train.n_samples} of "
            f"{data.n_samples} samples to learn from, which is too little: {error}"
        ) from error
    if chooses and parts.validation.n_samples < MIN_VALIDATION_SAMPLES:  # regimes of few samples
        return Parts(data, data, None)
    validation = parts.validation if chooses else parts.train
    return Parts(parts.train, validation, parts.test if unseen else None)
