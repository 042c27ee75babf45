"""Run by the Python that has torch: programs as forks of one process that has imported torch, which costs two seconds.

    python3 torch_forks.py SOCKET    # says "ready"

A connection brings a JSON object, ``words`` (script and arguments) and ``environment``, with two descriptors, standard
output and error; the program's exit status comes back as text when it has ended. Its traceback and its end are those of
a start of its own.
"""

from __future__ import annotations

import json
import os
import runpy
import selectors
import socket
import sys

import torch.distributed  # noqa: F401  # what every program imports first


def fork(connection: socket.socket) -> int | list[str]:
    """The process id; in the child what it shall run."""
    asked, descriptors, _flags, _from = socket.recv_fds(connection, 1 << 20, 2)
    pid = os.fork()
    for number, descriptor in enumerate(descriptors, 1):
        if pid == 0:
            os.dup2(descriptor, number)
        os.close(descriptor)
    if pid:
        return pid
    request = json.loads(asked)
    os.environ.clear()
    os.environ.update(request["environment"])
    words: list[str] = request["words"]
    return words


def serve(path: str) -> list[str]:
    """Until it is killed; comes back in a child only."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    print("ready", flush=True)
    with selectors.DefaultSelector() as ready:
        ready.register(listening, selectors.EVENT_READ)
        while True:
            for key, _events in ready.select():
                if key.fileobj is listening:
                    connection = listening.accept()[0]
                    made = fork(connection)
                    if isinstance(made, list):
                        listening.close()
                        connection.close()
                        return made
                    ready.register(os.pidfd_open(made), selectors.EVENT_READ, (connection, made))
                else:
                    connection, pid = key.data
                    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    ready.unregister(key.fileobj)
                    os.close(key.fd)
                    connection.sendall(str(status).encode())
                    connection.close()


sys.argv = serve(sys.argv[1])
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
