"""Fits compute on one thread each, and give the others back."""

import pytest
import torch

from ucad.solvers.threads import one_thread


def test_inside_there_is_one_thread_and_afterwards_as_many_as_before():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with pytest.raises(KeyError), one_thread():
            raise KeyError
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
