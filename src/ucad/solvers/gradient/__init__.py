"""The paper's learner: a relaxed graph under constraints, many configurations at once."""
