"""The networks of the benchmarks as data, and the arrays whose gradients their training exchanges. No torch here.

One description serves both sides: `arrays` gives the shapes for the bandwidth benchmark, and models.py builds the torch
network of the scoring and training benchmarks from it. Sources:

alexnet       Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014 (one tower)
vgg16         Simonyan, Zisserman, "Very deep convolutional networks", 2014, configuration D
inception-bn  Ioffe, Szegedy, "Batch normalization", 2015, figure 5, in the widths that became customary (4c: 160)
inception-v3  Szegedy et al., "Rethinking the inception architecture", 2015, without the auxiliary classifier
resnet50/152  He et al., "Deep residual learning", 2015, in variant 1.5 (the stride sits in the 3x3 convolution)
resnet200     He et al., "Identity mappings in deep residual networks", 2016: depths 3, 24, 36, 3; here with the order
              of layers of resnet50, so the same arrays but for the normalisation of the input
"""

from __future__ import annotations

import dataclasses
import math
from typing import Sequence, Tuple, Union

Pair = Tuple[int, int]
Shape = Tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Conv:
    """A convolution, batch normalisation if ``norm`` (then without bias), and ReLU if ``active``."""

    out: int
    kernel: Pair
    stride: int = 1
    padding: Pair = (0, 0)
    norm: bool = True
    active: bool = True


@dataclasses.dataclass(frozen=True)
class Pool:
    kind: str  # max, avg
    kernel: int
    stride: int
    padding: int = 0


@dataclasses.dataclass(frozen=True)
class Branches:
    """Paths side by side, joined along the channels."""

    paths: tuple[tuple[Layer, ...], ...]


@dataclasses.dataclass(frozen=True)
class Residual:
    """The sum of body and shortcut (empty: the input itself), then ReLU."""

    body: tuple[Layer, ...]
    shortcut: tuple[Layer, ...] = ()


@dataclasses.dataclass(frozen=True)
class Adapt:
    """Average pooling to ``size`` x ``size``, whatever comes in."""

    size: int


@dataclasses.dataclass(frozen=True)
class Linear:
    """Fully connected, over everything that comes in; ReLU if ``active``; ``dropout`` before it."""

    out: int
    active: bool = False
    dropout: float = 0.0


Layer = Union[Conv, Pool, Branches, Residual, Adapt, Linear]


@dataclasses.dataclass(frozen=True)
class Network:
    """``smallest``: least image size in pixels that leaves something for every layer."""

    name: str
    layers: tuple[Layer, ...]
    smallest: int = 32


def conv(out: int, kernel: int, stride: int = 1, *, same: bool = True, norm: bool = True, active: bool = True) -> Conv:
    pad = kernel // 2 if same else 0
    return Conv(out, (kernel, kernel), stride, (pad, pad), norm, active)


# --------------------------------------------------------------------------------------------------------- families


def _alexnet() -> Network:
    return Network(
        "alexnet",
        (
            Conv(64, (11, 11), 4, (2, 2), norm=False),
            Pool("max", 3, 2),
            conv(192, 5, norm=False),
            Pool("max", 3, 2),
            conv(384, 3, norm=False),
            conv(256, 3, norm=False),
            conv(256, 3, norm=False),
            Pool("max", 3, 2),
            Adapt(6),
            Linear(4096, active=True, dropout=0.5),
            Linear(4096, active=True, dropout=0.5),
            Linear(1000),
        ),
        smallest=63,
    )


def _vgg16() -> Network:
    layers: list[Layer] = []
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        layers += [conv(width, 3, norm=False)] * count
        layers.append(Pool("max", 2, 2))
    head = (Adapt(7), Linear(4096, active=True), Linear(4096, active=True, dropout=0.5), Linear(1000, dropout=0.5))
    return Network("vgg16", (*layers, *head))


def _resnet(name: str, blocks: Sequence[int]) -> Network:
    layers: list[Layer] = [conv(64, 7, 2), Pool("max", 3, 2, 1)]
    channels = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            fits = stride == 1 and channels == 4 * width
            body = (conv(width, 1), conv(width, 3, stride), conv(4 * width, 1, active=False))
            layers.append(Residual(body, () if fits else (conv(4 * width, 1, stride, active=False),)))
            channels = 4 * width
    return Network(name, (*layers, Adapt(1), Linear(1000)))


def _inception_bn() -> Network:
    def mixed(one: int, three: Pair, double: Pair, kind: str, projection: int) -> Branches:
        paths: list[tuple[Layer, ...]] = [(conv(one, 1),)]
        paths.append((conv(three[0], 1), conv(three[1], 3)))
        paths.append((conv(double[0], 1), conv(double[1], 3), conv(double[1], 3)))
        paths.append((Pool(kind, 3, 1, 1), conv(projection, 1)))
        return Branches(tuple(paths))

    def shrinking(three: Pair, double: Pair) -> Branches:
        return Branches(
            (
                (conv(three[0], 1), conv(three[1], 3, 2)),
                (conv(double[0], 1), conv(double[1], 3), conv(double[1], 3, 2)),
                (Pool("max", 3, 2, 1),),
            )
        )

    return Network(
        "inception-bn",
        (
            conv(64, 7, 2),
            Pool("max", 3, 2, 1),
            conv(64, 1),
            conv(192, 3),
            Pool("max", 3, 2, 1),
            mixed(64, (64, 64), (64, 96), "avg", 32),
            mixed(64, (64, 96), (64, 96), "avg", 64),
            shrinking((128, 160), (64, 96)),
            mixed(224, (64, 96), (96, 128), "avg", 128),
            mixed(192, (96, 128), (96, 128), "avg", 128),
            mixed(160, (128, 160), (128, 160), "avg", 128),
            mixed(96, (128, 192), (160, 192), "avg", 128),
            shrinking((128, 192), (192, 256)),
            mixed(352, (192, 320), (160, 224), "avg", 128),
            mixed(352, (192, 320), (192, 224), "max", 128),
            Adapt(1),
            Linear(1000),
        ),
    )


def _inception_v3() -> Network:
    def valid(out: int, kernel: int, stride: int = 1) -> Conv:
        return conv(out, kernel, stride, same=False)

    def row(out: int, length: int) -> Conv:
        return Conv(out, (1, length), 1, (0, length // 2))

    def column(out: int, length: int) -> Conv:
        return Conv(out, (length, 1), 1, (length // 2, 0))

    def pooled(out: int) -> tuple[Layer, ...]:
        return (Pool("avg", 3, 1, 1), conv(out, 1))

    def wide(projection: int) -> Branches:
        return Branches(
            (
                (conv(64, 1),),
                (conv(48, 1), conv(64, 5)),
                (conv(64, 1), conv(96, 3), conv(96, 3)),
                pooled(projection),
            )
        )

    def factored(width: int) -> Branches:
        return Branches(
            (
                (conv(192, 1),),
                (conv(width, 1), row(width, 7), column(192, 7)),
                (conv(width, 1), column(width, 7), row(width, 7), column(width, 7), row(192, 7)),
                pooled(192),
            )
        )

    spread = Branches(((row(384, 3),), (column(384, 3),)))
    last = Branches(((conv(320, 1),), (conv(384, 1), spread), (conv(448, 1), conv(384, 3), spread), pooled(192)))
    layers: tuple[Layer, ...] = (
        valid(32, 3, 2),
        valid(32, 3),
        conv(64, 3),
        Pool("max", 3, 2),
        valid(80, 1),
        valid(192, 3),
        Pool("max", 3, 2),
        wide(32),
        wide(64),
        wide(64),
        Branches(((valid(384, 3, 2),), (conv(64, 1), conv(96, 3), valid(96, 3, 2)), (Pool("max", 3, 2),))),
        factored(128),
        factored(160),
        factored(160),
        factored(192),
        Branches(
            (
                (conv(192, 1), valid(320, 3, 2)),
                (conv(192, 1), row(192, 7), column(192, 7), valid(192, 3, 2)),
                (Pool("max", 3, 2),),
            )
        ),
        last,
        last,
        Adapt(1),
        Linear(1000, dropout=0.5),
    )
    return Network("inception-v3", layers, smallest=75)


NETWORKS: dict[str, Network] = {
    network.name: network
    for network in (
        _alexnet(),
        _vgg16(),
        _inception_bn(),
        _inception_v3(),
        _resnet("resnet50", (3, 4, 6, 3)),
        _resnet("resnet152", (3, 8, 36, 3)),
        _resnet("resnet200", (3, 24, 36, 3)),
    )
}


def find(name: str) -> Network:
    if name not in NETWORKS:
        raise SystemExit(f"no network {name!r}; there is: {', '.join(sorted(NETWORKS))}")
    return NETWORKS[name]


# ----------------------------------------------------------------------------------------------------------- arrays


@dataclasses.dataclass(frozen=True)
class Array:
    """One parameter array. ``kind``: weight, bias, or norm (scale or offset of a normalisation)."""

    kind: str
    shape: Shape

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


def arrays(network: Network) -> list[Array]:
    """The parameter arrays from input to output; their gradients have the same shapes."""
    found: list[Array] = []
    _walk(network.layers, 3, 1, found)
    return found


def _walk(layers: Sequence[Layer], channels: int, positions: int, found: list[Array]) -> int:
    """Append the arrays of ``layers`` to ``found``; returns the channels that come out. ``positions``: height x width
    as far as a layer fixes it (a fully connected layer needs to know)."""
    for layer in layers:
        if isinstance(layer, Conv):
            found.append(Array("weight", (layer.out, channels, *layer.kernel)))
            if layer.norm:
                found.extend([Array("norm", (layer.out,))] * 2)
            else:
                found.append(Array("bias", (layer.out,)))
            channels = layer.out
        elif isinstance(layer, Branches):
            channels = sum(_walk(path, channels, positions, found) for path in layer.paths)
        elif isinstance(layer, Residual):
            out = _walk(layer.body, channels, positions, found)
            _walk(layer.shortcut, channels, positions, found)
            channels = out
        elif isinstance(layer, Adapt):
            positions = layer.size**2
        elif isinstance(layer, Linear):
            found.append(Array("weight", (layer.out, channels * positions)))
            found.append(Array("bias", (layer.out,)))
            channels, positions = layer.out, 1
    return channels
