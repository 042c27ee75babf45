"""What a registry answers about an image, through Docker's socket or by skopeo: a digest, none, or trouble."""

from __future__ import annotations

import base64
import http.server
import json
import socketserver
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic import registry_reading

DIGEST = "sha256:" + "a1" * 32
REGISTRY = "registry:5000"
IMAGES = [f"{REGISTRY}/multinode:latest-1", f"{REGISTRY}/multinode:latest"]


class Engine(socketserver.ThreadingUnixStreamServer):
    """``answers``: image -> status and body; ``asked``: paths and logins, as they came."""

    daemon_threads = True

    def __init__(self, path: str) -> None:
        super().__init__(path, Handler)
        self.answers: dict[str, tuple[int, str]] = {}
        self.asked: list[tuple[str, Any]] = []


class Handler(http.server.BaseHTTPRequestHandler):
    server: Engine

    def do_GET(self) -> None:
        login = json.loads(base64.urlsafe_b64decode(self.headers["X-Registry-Auth"]))
        self.server.asked.append((self.path, login))
        status, body = self.server.answers[self.path.removeprefix("/distribution/").removesuffix("/json")]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def address_string(self) -> str:
        return "local"

    def log_message(self, *_words: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def engine() -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(prefix="rm-") as folder, Engine(f"{folder}/docker.sock") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def by_docker(engine: Engine, login: tuple[str, str] = ("", "")) -> Any:
    ask = registry_reading.docker(str(engine.server_address), REGISTRY, login, 5.0)
    return registry_reading.digests(ask, IMAGES, REGISTRY, "gpu01")


def found(digest: str) -> tuple[int, str]:
    return 200, json.dumps({"Descriptor": {"digest": digest}})


def test_docker_is_asked_for_each_image_with_the_login(engine: Engine) -> None:
    engine.answers = {IMAGES[0]: found(DIGEST), IMAGES[1]: (404, '{"message": "manifest unknown"}')}
    assert by_docker(engine, ("me", "s3cret?>")) == {IMAGES[0]: DIGEST, IMAGES[1]: ""}
    login = {"username": "me", "password": "s3cret?>", "serveraddress": REGISTRY}
    assert engine.asked == [(f"/distribution/{image}/json", login) for image in IMAGES]


def test_docker_is_asked_without_a_login_where_there_is_none(engine: Engine) -> None:
    engine.answers = dict.fromkeys(IMAGES, found(DIGEST))
    assert by_docker(engine) == dict.fromkeys(IMAGES, DIGEST)
    assert {str(login) for _path, login in engine.asked} == {"{}"}


@pytest.mark.parametrize("message", ["manifest unknown", "name unknown", "tag not found", "no such manifest: x"])
def test_image_that_the_registry_lacks_has_no_digest(engine: Engine, message: str) -> None:
    engine.answers = dict.fromkeys(IMAGES, (500, json.dumps({"message": message})))
    assert by_docker(engine) == dict.fromkeys(IMAGES, "")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((500, '{"message": "dial tcp: no route to host"}'), "no route to host"),
        ((401, '{"message": "unauthorized"}'), "unauthorized"),
        ((403, "denied by a proxy"), "denied by a proxy"),
        ((503, ""), "HTTP status 503"),
        ((200, "{}"), "{}"),
        ((200, '{"Descriptor": "x"}'), "Descriptor"),
        ((200, "[1]"), "[1]"),
    ],
)
def test_other_answers_are_refused_with_registry_image_and_remedy(
    engine: Engine, answer: tuple[int, str], words: str
) -> None:
    engine.answers = {IMAGES[0]: found(DIGEST), IMAGES[1]: answer}
    with pytest.raises(LayerError) as refused:
        by_docker(engine, ("me", "s3cret"))
    said = str(refused.value)
    assert said.startswith(f"gpu01: registry {REGISTRY} ") and "certificate" in said
    assert IMAGES[1] in said and IMAGES[0] not in said.split() and words in said and "s3cret" not in said


def test_engine_that_is_not_there_is_named(tmp_path: Path) -> None:
    ask = registry_reading.docker(str(tmp_path / "none"), REGISTRY, ("", ""), 5.0)
    with pytest.raises(LayerError, match=r"the engine at .*/none: .*No such file"):
        registry_reading.digests(ask, IMAGES, REGISTRY, "gpu01")


class Skopeo:
    def __init__(self, code: int = 0, out: str = "", err: str = "", error: Exception | None = None) -> None:
        self.done = SimpleNamespace(returncode=code, stdout=out, stderr=err)
        self.error = error
        self.calls: list[tuple[list[str], dict[str, Any]]] = []

    def __call__(self, command: list[str], **given: Any) -> Any:
        self.calls.append((command, given))
        if self.error:
            raise self.error
        return self.done


def by_skopeo(program: Skopeo, login: tuple[str, str] = ("", "")) -> Any:
    ask = registry_reading.skopeo(REGISTRY, login, 60.0, program)
    return registry_reading.digests(ask, IMAGES[:1], REGISTRY, "gpu01")


def test_password_reaches_skopeo_on_its_standard_input_alone() -> None:
    program = Skopeo(out=f"{DIGEST}\n")
    assert by_skopeo(program, ("me", "s3cret")) == {IMAGES[0]: DIGEST}
    ((command, given),) = program.calls
    assert command[-1] == f"docker://{IMAGES[0]}" and "s3cret" not in " ".join(command)
    auth = base64.b64encode(b"me:s3cret").decode()
    assert json.loads(given["input"]) == {"auths": {REGISTRY: {"auth": auth}}} and given["timeout"] == 60.0
    anonymous = Skopeo(out=DIGEST)
    by_skopeo(anonymous)
    assert json.loads(anonymous.calls[0][1]["input"]) == {"auths": {}}


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (Skopeo(1, err="reading: unauthorized"), "unauthorized"),
        (Skopeo(1), "no message"),
        (Skopeo(0, out="not a digest"), "no message"),
        (Skopeo(error=FileNotFoundError(2, "No such file", "skopeo")), "'skopeo'"),
        (Skopeo(error=subprocess.TimeoutExpired("skopeo", 60)), "timed out"),
    ],
)
def test_trouble_of_skopeo_is_refused(program: Skopeo, words: str) -> None:
    with pytest.raises(LayerError) as refused:
        by_skopeo(program)
    assert words in str(refused.value)


def test_image_that_skopeo_does_not_find_has_no_digest() -> None:
    assert by_skopeo(Skopeo(1, err="reading manifest latest: manifest unknown")) == {IMAGES[0]: ""}
