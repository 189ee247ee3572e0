import pytest
import torch

from ucad.solvers.gradient.lagrangian import Adam, AugmentedLagrangian


@pytest.mark.parametrize("K", [1, 8])
def test_adam_takes_the_steps_of_torch(K):
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(K, 5, generator=generator, dtype=torch.float64)
    rates = torch.linspace(1e-3, 0.1, K, dtype=torch.float64)
    ours, memory = start.clone(), Adam.start(start)
    theirs = [row.clone().requires_grad_() for row in start]
    pairs = zip(theirs, rates.tolist(), strict=True)
    optimisers = [torch.optim.Adam([row], lr=rate) for row, rate in pairs]
    for _ in range(50):
        memory.step_(ours, 4 * ours**3 - ours, rates)
        for row, optimiser in zip(theirs, optimisers, strict=True):
            optimiser.zero_grad()
            (row**4 - 0.5 * row**2).sum().backward()
            optimiser.step()
    torch.testing.assert_close(ours, torch.stack(theirs).detach(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("K", [1, 8])
def test_the_exact_solution_of_a_convex_problem_is_reached(K):
    # min ½‖x − c‖² such that x₁ + x₂ ≤ 1 and x₁ ≥ 0; for c = (2, 1): x = (1, 0), λ = (1, 0).
    target = torch.tensor([2.0, 1.0], dtype=torch.float64)
    x = torch.zeros(K, 2, dtype=torch.float64)
    rates = torch.linspace(2e-2, 5e-2, K, dtype=torch.float64)
    growth = torch.full((K,), 1.01, dtype=torch.float64)

    def violations(x):
        return torch.stack([x.sum(dim=1) - 1, -x[:, 0]], dim=1)

    dual = AugmentedLagrangian.start(violations(x), penalty=1.0)
    memory = Adam.start(x)
    for step in range(1000):
        leaf = x.clone().requires_grad_()
        dual = dual.ascend(violations(leaf).detach(), rates)
        loss = 0.5 * (leaf - target).square().sum(dim=1) + dual.penalty(violations(leaf))
        (gradient,) = torch.autograd.grad(loss.sum(), leaf)
        memory.step_(x, gradient, rates)
        if step % 20 == 19:
            dual = dual.grow(violations(x), growth)
    solution = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(K, -1)
    torch.testing.assert_close(x, solution, atol=1e-3, rtol=0)
    multipliers = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(K, -1)
    torch.testing.assert_close(dual.multipliers, multipliers, atol=1e-2, rtol=0)


def test_only_violated_constraints_grow_their_penalty():
    dual = AugmentedLagrangian.start(torch.zeros(2, 3), penalty=2.0)
    grown = dual.grow(torch.tensor([[1.0, -1.0, 1e-5]] * 2), torch.tensor([1.5, 1.0]))
    assert grown.penalty_coefficient.tolist() == [[3.0, 2.0, 2.0], [2.0, 2.0, 2.0]]


def test_multipliers_never_go_below_zero():
    dual = AugmentedLagrangian.start(torch.zeros(1, 2), penalty=1.0)
    dual = dual.ascend(torch.tensor([[-1.0, 2.0]]), torch.tensor([0.5]))
    assert dual.multipliers.tolist() == [[0.0, 1.0]]


def test_a_constraint_that_holds_with_room_adds_nothing_that_pulls():
    dual = AugmentedLagrangian.start(torch.zeros(1, 1), penalty=1.0)
    violation = torch.tensor([[-0.5]], requires_grad=True)
    dual.penalty(violation).sum().backward()
    assert violation.grad.item() == 0
