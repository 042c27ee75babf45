"""The networks of architectures.py in torch.nn. Needs no torchvision; torch 1.13 and later."""

from __future__ import annotations

from typing import Sequence

import torch
from architectures import Adapt, Branches, Conv, Layer, Linear, Network, Pool, Residual, arrays
from torch import nn


class Beside(nn.Module):
    def __init__(self, paths: Sequence[nn.Module]) -> None:
        super().__init__()
        self.paths = nn.ModuleList(paths)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.cat([path(images) for path in self.paths], 1)


class Around(nn.Module):
    def __init__(self, body: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut
        self.activation = nn.ReLU(inplace=True)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.activation(self.body(images) + self.shortcut(images))
        return out


def build(network: Network) -> nn.Module:
    """The network, its parameters in the order of `architectures.arrays`; RuntimeError if they are not the same."""
    module, _channels, _positions = _chain(network.layers, 3, 1)
    wanted = [array.shape for array in arrays(network)]
    real = [tuple(parameter.shape) for parameter in module.parameters()]
    if real != wanted:
        raise RuntimeError(f"{network.name}: the parameters are not those of its description")
    return module


def _chain(layers: Sequence[Layer], channels: int, positions: int) -> tuple[nn.Sequential, int, int]:
    modules: list = []
    for layer in layers:
        if isinstance(layer, Conv):
            modules.append(
                nn.Conv2d(channels, layer.out, layer.kernel, layer.stride, layer.padding, bias=not layer.norm)
            )
            if layer.norm:
                modules.append(nn.BatchNorm2d(layer.out))
            if layer.active:
                modules.append(nn.ReLU(inplace=True))
            channels = layer.out
        elif isinstance(layer, Pool):
            kind = nn.MaxPool2d if layer.kind == "max" else nn.AvgPool2d
            modules.append(kind(layer.kernel, layer.stride, layer.padding))
        elif isinstance(layer, Branches):
            paths = [_chain(path, channels, positions) for path in layer.paths]
            modules.append(Beside([path[0] for path in paths]))
            channels = sum(path[1] for path in paths)
        elif isinstance(layer, Residual):
            body, out, _positions = _chain(layer.body, channels, positions)
            shortcut = _chain(layer.shortcut, channels, positions)[0] if layer.shortcut else nn.Identity()
            modules.append(Around(body, shortcut))
            channels = out
        elif isinstance(layer, Adapt):
            modules.append(nn.AdaptiveAvgPool2d(layer.size))
            positions = layer.size**2
        elif isinstance(layer, Linear):
            if not any(isinstance(module, nn.Flatten) for module in modules):
                modules.append(nn.Flatten())
            if layer.dropout:
                modules.append(nn.Dropout(layer.dropout))
            modules.append(nn.Linear(channels * positions, layer.out))
            if layer.active:
                modules.append(nn.ReLU(inplace=True))
            channels, positions = layer.out, 1
    return nn.Sequential(*modules), channels, positions
