"""A real MPI collective, without compiler and without mpi4py: MPI_Allreduce by ctypes on Open MPI's library.

``mpirun hostname`` never opens a connection between ranks, so it passes on clusters where every MPI program hangs (two
hosts with the same docker0 network are enough). Here rank r contributes r+1, and each rank must see n(n+1)/2: first in
one number, then in each of ELEMENTS numbers (8 MiB, which leaves as many full frames: a path that passes only small
frames fails or hangs here).

Usage: mpirun ... python3 allreduce.py [expected number of ranks] [ELEMENTS]
Prints one line per rank: ROCEMESH-ALLREDUCE {json}. Exit status 0 if right, 4 if a sum or the number of ranks is wrong,
5 if the library cannot be loaded.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
import time
from typing import Sequence

MARK = "ROCEMESH-ALLREDUCE "
WRONG, NO_LIBRARY = 4, 5
LIBRARY = "libmpi.so.40"  # Open MPI 4.x and 5.x
ELEMENTS = 1 << 20


def main(arguments: Sequence[str]) -> int:
    expected_ranks = int(arguments[0]) if arguments else 0
    elements = int(arguments[1]) if len(arguments) > 1 else ELEMENTS
    try:
        mpi = ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        sys.stderr.write(f"{socket.gethostname()}: {LIBRARY}: {error}\n")
        return NO_LIBRARY

    def handle(name: str) -> ctypes.c_void_p:
        # Open MPI's predefined handles are the addresses of these objects.
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))

    world, double, add = handle("ompi_mpi_comm_world"), handle("ompi_mpi_double"), handle("ompi_mpi_op_sum")
    mpi.MPI_Init(None, None)
    rank, ranks = ctypes.c_int(), ctypes.c_int()
    mpi.MPI_Comm_rank(world, ctypes.byref(rank))
    mpi.MPI_Comm_size(world, ctypes.byref(ranks))
    expected = ranks.value * (ranks.value + 1) / 2

    def allreduce(count: int) -> tuple[int, list[float], float]:
        mine = (ctypes.c_double * count)(*([rank.value + 1.0] * count))
        out = (ctypes.c_double * count)()
        mpi.MPI_Barrier(world)
        started = time.perf_counter()
        status = mpi.MPI_Allreduce(mine, out, count, double, add, world)
        return status, list(out), time.perf_counter() - started

    status, one, _seconds = allreduce(1)
    many_status, many, seconds = allreduce(elements)
    wrong = sum(1 for value in many if value != expected)
    right = (
        status == 0 and many_status == 0 and one[0] == expected and wrong == 0 and expected_ranks in (0, ranks.value)
    )
    record = {
        "rank": rank.value,
        "ranks": ranks.value,
        "host": socket.gethostname(),
        "sum": one[0],
        "expected": expected,
        "elements": elements,
        "wrong": wrong,
        "milliseconds": round(1e3 * seconds, 3),
        "ok": right,
    }
    # One write, so that mpirun does not glue two ranks' lines together.
    os.write(1, (MARK + json.dumps(record, sort_keys=True) + "\n").encode())
    mpi.MPI_Finalize()
    return 0 if right else WRONG


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
