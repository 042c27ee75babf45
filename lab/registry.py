"""The private registry: started with TLS and a password, seeded with what nodes build on or run, emptied by `reset`."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import tarfile
from typing import Any

import requests

from . import config, engine, files, nodes, processes

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_STORE = "/var/lib/registry/docker/registry/v2/repositories"


def ensure(paths: config.Paths) -> str:
    """Container runs and holds its seeds; returns what was done."""
    done = []
    _htpasswd(paths)
    present = engine.inspect("container", config.REGISTRY_CONTAINER)
    if present and not present["State"]["Running"]:
        engine.docker("start", config.REGISTRY_CONTAINER)
        done.append("started")
    elif not present:
        engine.docker("volume", "create", "--label", f"{config.OWNER_LABEL}={paths.root}", config.REGISTRY_VOLUME)
        engine.docker(
            *("run", "--detach", "--name", config.REGISTRY_CONTAINER, "--hostname", config.REGISTRY_NAME),
            *("--label", f"{config.OWNER_LABEL}={paths.root}", "--restart", "no"),
            *("--network", config.NETWORK, "--network-alias", config.REGISTRY_NAME),
            *nodes.at(config.REGISTRY_IP, config.REGISTRY_IP6),
            *("--volume", f"{config.REGISTRY_VOLUME}:/var/lib/registry"),
            *("--volume", f"{paths.registry}:/etc/rocemesh-lab:ro"),
            config.REGISTRY_IMAGE,
        )
        done.append("created")
    processes.wait_for("the registry answers", lambda: answers(paths), 30)
    done += [f"pushed {name}" for name, image in config.SEEDS.items() if seed(paths, name, image)]
    return ", ".join(done) or "already there"


def _htpasswd(paths: config.Paths) -> None:
    """.lab/registry: what the container reads. htpasswd(1) of the image hashes; the password comes on its stdin."""
    for name in ("registry.crt", "registry.key"):
        if not (paths.registry / name).exists():
            files.write(paths.registry / name, (paths.pki / name).read_bytes(), 0o600)
    target = paths.registry / "htpasswd"
    if target.exists():
        return
    line = engine.docker(
        *("run", "--rm", "--interactive", "--network", "none", "--entrypoint", "htpasswd", config.REGISTRY_IMAGE),
        *("-inB", config.REGISTRY_USER),
        stdin=paths.secret("registry").read_text(),
    ).stdout.strip()
    if not line.startswith(f"{config.REGISTRY_USER}:$2y$"):
        raise config.LabError("htpasswd of the registry image did not print a bcrypt line")
    files.write(target, line + "\n", 0o600)


def _call(paths: config.Paths, method: str, path: str, **options: Any) -> requests.Response:
    with requests.Session() as session:
        session.trust_env = False  # neither a proxy nor another CA bundle: this is our own bridge
        return session.request(
            method,
            path if "://" in path else f"https://{config.REGISTRY_IP}:{config.REGISTRY_PORT}{path}",
            auth=(config.REGISTRY_USER, paths.secret("registry").read_text()),
            verify=str(paths.pki / "ca.crt"),
            timeout=60,
            **options,
        )


def answers(paths: config.Paths) -> bool:
    """Whether *our* registry answers: the right certificate, the right password, the right API."""
    try:
        answer = _call(paths, "GET", "/v2/")
    except requests.RequestException:
        return False
    return answer.status_code == 200 and "registry/2.0" in answer.headers.get("Docker-Distribution-Api-Version", "")


def _refuse(answer: requests.Response, what: str) -> None:
    if answer.status_code >= 300:
        raise config.LabError(f"registry: {what}: {answer.status_code} {answer.text[:300]}")


def seed(paths: config.Paths, name: str, image: str) -> bool:
    """Pushes the image unless its tag is there with the very same image id; True if it was pushed.

    Spoken directly (the registry's HTTP API), because this machine's engine neither knows the name ``registry`` nor
    trusts the lab's CA, and should not have to.
    """
    image_id = engine.inspect("image", image)["Id"]
    repository, _colon, version = name.partition(":")
    tag = f"/v2/{repository}/manifests/{version}"
    answer = _call(paths, "GET", tag, headers={"Accept": _MANIFEST})
    if answer.status_code == 200 and answer.json().get("config", {}).get("digest") == image_id:
        return False
    with subprocess.Popen(engine.command("save", image_id), stdout=subprocess.PIPE, env=engine.environment()) as save:
        if save.stdout is None:
            raise config.LabError("docker save gave no output")
        saved = save.stdout.read()
    if save.returncode:
        raise config.LabError(f"docker save {image}: status {save.returncode}")
    with tarfile.open(fileobj=io.BytesIO(saved)) as archive:

        def member(name: str) -> bytes:
            stream = archive.extractfile(name)
            if stream is None:
                raise config.LabError(f"docker save {image}: {name} is not a file")
            return stream.read()

        description = json.loads(member("manifest.json"))[0]
        settings = member(description["Config"])
        # mtime=0: the same layer gives the same digest on every `up`. Level 1: half the time for a tenth more size.
        layers = [gzip.compress(member(name), compresslevel=1, mtime=0) for name in description["Layers"]]
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": {
            "mediaType": "application/vnd.docker.container.image.v1+json",
            "size": len(settings),
            "digest": _upload(paths, repository, settings),
        },
        "layers": [
            {
                "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
                "size": len(layer),
                "digest": _upload(paths, repository, layer),
            }
            for layer in layers
        ],
    }
    answer = _call(paths, "PUT", tag, data=json.dumps(manifest), headers={"Content-Type": _MANIFEST})
    _refuse(answer, f"manifest of {name}")
    return True


def _upload(paths: config.Paths, repository: str, blob: bytes) -> str:
    digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
    start = _call(paths, "POST", f"/v2/{repository}/blobs/uploads/")
    _refuse(start, "start of an upload")
    answer = _call(
        paths,
        "PUT",
        start.headers["Location"],
        params={"digest": digest},
        data=blob,
        headers={"Content-Type": "application/octet-stream"},
    )
    _refuse(answer, f"upload of {digest}")
    return digest


def empty(paths: config.Paths) -> None:
    """Removes every repository but the seeds, frees the space, and pushes a seed again that was changed."""
    engine.docker("start", config.REGISTRY_CONTAINER)
    engine.docker(
        *("exec", config.REGISTRY_CONTAINER, "find", _STORE, "-mindepth", "1", "-maxdepth", "1"),
        *(word for name in config.SEEDS for word in ("!", "-name", name.partition(":")[0])),
        *("-exec", "rm", "-rf", "{}", "+"),
    )
    engine.docker(
        *("exec", config.REGISTRY_CONTAINER, "docker-registry", "garbage-collect", "--delete-untagged"),
        "/etc/docker/registry/config.yml",
    )
    # Started anew, because a running registry may remember blobs that the collection has just removed.
    engine.docker("restart", "--time", "3", config.REGISTRY_CONTAINER)
    processes.wait_for("the registry answers", lambda: answers(paths), 30)
    for name, image in config.SEEDS.items():
        seed(paths, name, image)


def remove() -> bool:
    present = engine.inspect("container", config.REGISTRY_CONTAINER) is not None
    if present:
        engine.docker("rm", "--force", config.REGISTRY_CONTAINER)
    if engine.inspect("volume", config.REGISTRY_VOLUME):
        engine.docker("volume", "rm", config.REGISTRY_VOLUME)
    return present
