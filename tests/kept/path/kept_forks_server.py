"""Runs modules of one ansible-playbook, each in a fork of this process, which has imported what all modules import.

Started by the node's own interpreter as ``python kept_forks_server.py LISTENER ALIVE BASE``: a listening socket, a pipe
whose other end ansible-playbook holds, and the folder with Ansible's common code. A connection is one module: its
standard output and error as descriptors, then a line of JSON (folder, environment, length) and the module as Ansible
wraps it. The answer is a line when the module starts, and its exit status at the end. If the worker that asked goes
away, the module is ended, as its process group would be.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import sys
import types


def receive(connection: socket.socket) -> tuple[dict[str, object], bytes]:
    """The request; standard output and error become those of this process."""
    size = array.array("i").itemsize
    data, ancillary, _flags, _address = connection.recvmsg(1 << 16, socket.CMSG_LEN(2 * size))
    (descriptors,) = (array.array("i", found) for _level, _kind, found in ancillary)
    for number, descriptor in enumerate(descriptors, 1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    head, _line, module = data.partition(b"\n")
    request = json.loads(head)
    parts, wanted = [module], request["length"] - len(module)
    while wanted:
        part = connection.recv(min(wanted, 1 << 20))
        if not part:
            os._exit(1)
        parts.append(part)
        wanted -= len(part)
    return request, b"".join(parts)


def supervise(connection: socket.socket, module: int, ended: int) -> None:
    """Until ``module`` has ended, or until nobody waits for it any more."""
    while True:
        found, status = os.waitpid(module, os.WNOHANG)
        if found:
            code = 128 + (status & 0x7F) if status & 0x7F else status >> 8  # as a shell says it
            connection.sendall(b"%d\n" % code)
            return
        ready = select.select([connection, ended], [], [])[0]
        if connection in ready:
            os.killpg(module, signal.SIGTERM)
            return
        os.read(ended, 64)


def serve(listener: socket.socket, alive: int) -> bytes:
    """Returns in a process that is to run one module; never in this one."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready = select.select([listener, alive], [], [])[0]
        if alive in ready:
            os._exit(0)
        connection, _address = listener.accept()
        if os.fork():
            connection.close()
            continue
        listener.close()
        os.close(alive)
        request, module = receive(connection)
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.signal(signal.SIGCHLD, lambda *_arguments: None)
        signal.set_wakeup_fd(writing)
        connection.sendall(b"started\n")
        child = os.fork()
        if child:
            try:
                supervise(connection, child, reading)
            finally:
                os._exit(0)
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in (reading, writing, connection.detach()):
            os.close(descriptor)
        os.chdir(str(request["folder"]))
        os.environ.update(request["environment"])  # type: ignore[call-overload]
        return module


def begin() -> bytes:
    listener, alive, base = sys.argv[1:]
    standing = socket.socket(fileno=int(listener))
    sys.path[0] = base
    import runpy  # noqa: F401, PLC0415
    import shutil  # noqa: F401, PLC0415
    import tempfile  # noqa: F401, PLC0415
    import zipfile  # noqa: F401, PLC0415

    import ansible.module_utils._internal._ansiballz._loader  # noqa: PLC0415
    import ansible.module_utils.basic  # noqa: F401, PLC0415

    # The archive of each module brings the rest of this package.
    del sys.modules["ansible"]
    sys.path[0] = ""
    module = serve(standing, int(alive))
    sys.argv = [""]
    return module


if __name__ == "__main__":
    text = begin()
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    exec(compile(text, "<stdin>", "exec"), main.__dict__)
