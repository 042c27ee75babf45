"""The exchange of gradients by parameter servers, as MXNet's kvstore dist_sync and dist_async do it, over torch RPC.

The first N ranks keep the values as well, in host memory. Every rank pushes each array to its server and gets back
what the server has then: with `dist_sync` when all ranks have pushed, with `dist_async` at once, whatever the others
did. An array above SPLIT elements lies on all servers in equal parts, a smaller one on the server that has least; so
does ps-lite. What differs from MXNet: there, a worker is a process with several GPUs and adds these up first.
"""

from __future__ import annotations

import dataclasses
import math
import os
import socket
import threading
from typing import Any, Sequence

import common
import ranks

SPLIT = 1_000_000  # elements; the default of MXNET_KVSTORE_BIGARRAY_BOUND
LEARNING_RATE = 0.125  # a power of two: the product is exact, so that only the sum is rounded


@dataclasses.dataclass(frozen=True)
class Part:
    """Elements ``begin`` to ``end`` of array ``array``, kept by server ``server``."""

    array: int
    begin: int
    end: int
    server: int


def spread(elements: Sequence[int], servers: int, split: int = SPLIT) -> list[Part]:
    """Which server keeps what. Every element is kept once."""
    load = [0] * servers
    parts = []
    for array, count in enumerate(elements):
        if count > split and servers > 1:
            edges = [count * number // servers for number in range(servers + 1)]
            pieces = [Part(array, edges[number], edges[number + 1], number) for number in range(servers)]
        else:
            pieces = [Part(array, 0, count, load.index(min(load)))]
        for piece in pieces:
            load[piece.server] += piece.end - piece.begin
        parts += pieces
    return parts


class Store:
    """What one server keeps, in single precision. ``update``: values change by -LEARNING_RATE x the gradient (SGD);
    without it a value is the last sum (synchronous) or the sum of everything that came (asynchronous)."""

    def __init__(self, workers: int, asynchronous: bool, update: bool) -> None:
        self._workers, self._asynchronous, self._update = workers, asynchronous, update
        import torch  # noqa: PLC0415

        self._precision = torch.float32
        self._lock = threading.Lock()
        self._values: dict[int, Any] = {}
        self._sums: dict[int, Any] = {}
        self._waiting: dict[int, list[Any]] = {}

    def push(self, key: int, gradient: Any, future: Any) -> None:
        """``future`` gets the value as it is when this push has its effect."""
        kind = gradient.dtype
        gradient = gradient.to(dtype=self._precision, copy=True)  # a push to one's own rank brings no copy
        with self._lock:
            if self._asynchronous:
                self._apply(key, gradient, add=True)
                future.set_result(self._values[key].to(kind, copy=True))
                return
            if key in self._sums:
                self._sums[key] += gradient
            else:
                self._sums[key] = gradient
            waiting = self._waiting.setdefault(key, [])
            waiting.append(future)
            if len(waiting) < self._workers:
                return
            self._apply(key, self._sums.pop(key), add=False)
            value, everybody = self._values[key].to(kind, copy=True), self._waiting.pop(key)
        for each in everybody:
            each.set_result(value)

    def _apply(self, key: int, gradient: Any, add: bool) -> None:
        if self._update:
            if key not in self._values:
                self._values[key] = gradient.new_zeros(gradient.shape)
            self._values[key].add_(gradient, alpha=-LEARNING_RATE)
        elif add and key in self._values:
            self._values[key] += gradient
        else:
            self._values[key] = gradient


_stores: dict[int, Store] = {}  # of this process, by the number of the exchange; RPC calls functions, not objects


def _push(exchange: int, key: int, gradient: Any) -> Any:
    import torch  # noqa: PLC0415

    future: Any = torch.futures.Future()
    _stores[exchange].push(key, gradient, future)
    return future


def start(joined: Any, options: Any) -> None:
    """RPC between all ranks, on a free port of the first. On all ranks together."""
    from torch.distributed import rpc  # noqa: PLC0415

    # RPC names a function by its module, so what answers later has to be the module's own.
    global _push  # noqa: PLW0603
    _push = rpc.functions.async_execution(_push)
    if "GLOO_SOCKET_IFNAME" in os.environ:
        os.environ.setdefault("TP_SOCKET_IFNAME", os.environ["GLOO_SOCKET_IFNAME"])
    address = options.master_addr or os.environ.get("MASTER_ADDR", "127.0.0.1")
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0) if joined.rank == 0 else ("", 0))
        port = int(common.gathered(probe.getsockname()[1], joined)[0])
    rpc.init_rpc(
        f"rank{joined.rank}",
        rank=joined.rank,
        world_size=joined.world,
        rpc_backend_options=rpc.TensorPipeRpcBackendOptions(
            num_worker_threads=joined.world + 16,
            init_method=ranks.rendezvous(address, port),
            rpc_timeout=options.init_timeout,
        ),
    )


def stop() -> None:
    from torch.distributed import rpc  # noqa: PLC0415

    rpc.shutdown()


class ServerExchange:
    """The arrays of one network, by way of the servers; the same questions as `bandwidth.Exchange` answers."""

    def __init__(
        self, number: int, shapes: Sequence[tuple[int, ...]], joined: Any, dtype: Any, options: Any, *, scale: float
    ) -> None:
        import torch  # noqa: PLC0415
        from torch.distributed import rpc  # noqa: PLC0415

        self._rpc, self._torch, self._joined, self._number = rpc, torch, joined, number
        self._asynchronous, self._update = options.asynchronous, options.optimizer == "sgd"
        self._elements = [math.prod(shape) for shape in shapes]
        self._parts = spread(self._elements, options.servers)
        self._gradients = [torch.empty(count, dtype=dtype, device=joined.device) for count in self._elements]
        self._values = [torch.empty_like(gradient) for gradient in self._gradients]
        self._mine, self._sum = common.known(joined, dtype, scale)
        self._rounds = 0
        if joined.rank < options.servers:
            _stores[number] = Store(joined.world, self._asynchronous, self._update)
        for gradient in self._gradients:
            common.fill(gradient, self._mine)

    @property
    def size_bytes(self) -> int:
        return sum(gradient.numel() * gradient.element_size() for gradient in self._gradients)

    def fill(self) -> None:
        """Nothing: a push leaves the gradient as it is."""

    def reduce(self) -> None:
        self._exchange(self._gradients)
        self._rounds += 1

    def _exchange(self, gradients: Sequence[Any]) -> None:
        sent = [
            (
                part,
                self._rpc.rpc_async(
                    f"rank{part.server}",
                    _push,
                    args=(self._number, key, gradients[part.array][part.begin : part.end].cpu()),
                ),
            )
            for key, part in enumerate(self._parts)
        ]
        for part, future in sent:
            self._values[part.array][part.begin : part.end].copy_(future.wait())

    def error(self) -> float:
        """Largest relative deviation from the exact value. On all ranks together, when all have pushed equally often.
        What an asynchronous server has in between depends on who came first: it is asked again, with nothing to add."""
        if self._asynchronous:
            self._torch.distributed.barrier()
            self._exchange([self._torch.zeros_like(gradient) for gradient in self._gradients])
        exact = self._sum
        if self._update:
            exact = exact * (-LEARNING_RATE * self._rounds)
        elif self._asynchronous:
            exact = exact * self._rounds
        return max(common.deviation(value, exact) for value in self._values)

    def drop(self) -> None:
        self._torch.distributed.barrier()
        _stores.pop(self._number, None)
