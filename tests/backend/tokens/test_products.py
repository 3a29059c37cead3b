"""Products through oneDNN equal torch's, and give way to it for gradients."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from backend.tokens.products import Linear, affine, against, quicken, usable


@pytest.mark.parametrize("shape", [(1, 4), (3, 7, 16), (2, 33, 5), (0, 8)])
@pytest.mark.parametrize("bias", [True, False])
def test_affine_is_the_linear_function(shape, bias):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(shape, generator=generator)
    weight = torch.randn(9, shape[-1], generator=generator)
    offset = torch.randn(9, generator=generator) if bias else None
    expected = nn.functional.linear(x.double(), weight.double())
    if bias:
        expected = expected + offset.double()
    assert usable(x, weight)
    torch.testing.assert_close(affine(x, weight, offset).double(), expected, atol=1e-5, rtol=1e-5)


def test_matrices_with_gaps_between_their_rows():
    x, wide = torch.randn(20, 64)[:, ::2], torch.randn(48, 96)
    weight = wide[:, 32:64]
    torch.testing.assert_close(affine(x, weight), x @ weight.T, atol=1e-5, rtol=1e-5)


def test_against_multiplies_a_stack():
    a, b = torch.randn(3, 5, 8), torch.randn(3, 7, 8)
    torch.testing.assert_close(against(a, b), a @ b.mT, atol=1e-5, rtol=1e-5)
    assert against(a[:, :0], b).shape == (3, 0, 7)


def test_gradients_flow_where_they_are_wanted():
    x = torch.randn(4, 6, requires_grad=True)
    layer = Linear(6, 3)
    assert not usable(x, layer.weight)
    layer(x).sum().backward()
    torch.testing.assert_close(x.grad, layer.weight.sum(dim=0).expand(4, 6))
    with torch.no_grad():
        assert usable(x, layer.weight)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_types_are_torchs_own(dtype):
    x, weight = torch.randn(4, 6, dtype=dtype), torch.randn(3, 6, dtype=dtype)
    assert not usable(x, weight)
    torch.testing.assert_close(affine(x, weight), nn.functional.linear(x, weight), atol=0, rtol=0)


def test_quicken_keeps_parameters_and_other_layers():
    class Other(nn.Linear):
        pass

    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), Other(5, 2))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    x = torch.randn(3, 4)
    expected = net(x)
    quicken(net)
    assert [type(part) for part in net] == [Linear, nn.ReLU, Other]
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    with torch.no_grad():
        torch.testing.assert_close(net(x), expected, atol=1e-5, rtol=1e-5)
