import numpy as np

from ucad.data import InterventionalData


def summary(labels, **context):
    x = np.random.default_rng(0).normal(size=(len(labels), 3))
    return InterventionalData.from_targets(x, labels).with_context(context).summary()


LABELS = ["", "X1", "X2"] * 40


def test_samples_are_counted_by_regime_and_batch():
    (table,) = summary(LABELS, batch=["a"] * 60 + ["b"] * 60).batches
    assert table.levels == ("a", "b")
    assert table.counts == ((20, 20), (20, 20), (20, 20))
    assert "X2                                       20         20" in "\n".join(table.lines())


def test_mixed_batches_give_no_warning():
    assert summary(LABELS, batch=["a"] * 60 + ["b"] * 60).warnings == ()


def test_a_batch_of_one_regime_alone_is_confounded():
    batch = ["own" if label == "X2" else "shared" for label in LABELS]
    warnings = summary(LABELS, batch=batch).warnings
    assert any("own (X2)" in warning for warning in warnings)
    assert any("share no level of 'batch' with the controls" in warning for warning in warnings)


def test_a_regime_without_controls_in_its_batches_is_confounded():
    batch = ["away" if label else "home" for label in LABELS]
    batch[1] = "home"
    warnings = summary(LABELS, batch=batch).warnings
    assert warnings == (
        "1 regime(s) share no level of 'batch' with the controls, so that what they do is "
        "confounded with it: X2.",
    )


def test_a_depth_that_differs_by_regime_is_named():
    depth = np.random.default_rng(1).normal(size=len(LABELS)) * 0.1
    depth += [2.0 if label == "X1" else 0.0 for label in LABELS]
    found = summary(LABELS, log_depth=depth)
    assert found.numbers[0].far == ("X1",)
    assert "log_depth: from" in str(found)
    assert any("in 1 regime(s): X1" in warning for warning in found.warnings)
