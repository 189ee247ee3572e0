"""Grids of the functions that workers of the tests can import, and what rows say of them."""

from ucad.sweep import Grid

MODULE = "sweep_functions_of_the_tests"


def what_came_out(rows):
    return [(row["task"], row["result"], row["error"]) for row in rows]


def grid_of(name, *tasks):
    return Grid(tasks, f"{MODULE}:{name}")
