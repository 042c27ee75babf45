"""What is kept for a test session (tests/kept) is what would be made again: no stand-in, no other source's. A module
that is forked is answered as one that is started."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Callable, Iterator

import kept_forks
import pytest

from tests import kept, plays
from tests.kept.callback import kept_modules

OURS = "ansible_collections.rocemesh.multinode.plugins.modules.rdma_info"
DOCKER = "ansible_collections.community.docker.plugins.modules.docker_container_exec"


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Collections are found in this folder, then in this tree and in Ansible's distribution."""

    def look(first: Path) -> None:
        _forget()
        tree = str(kept_modules._OURS.parent / "collections")
        monkeypatch.setattr(kept_modules.C, "COLLECTIONS_PATHS", [str(first), tree])

    yield look
    _forget()


def _forget() -> None:
    kept_modules._kept.cache_clear()
    kept_modules._collection.cache_clear()


@pytest.mark.parametrize(
    ("module", "kept_as"),
    [
        ("ansible.modules.command", ""),
        (OURS, ""),
        (DOCKER, ""),
        ("ansible.modules.docker_container_exec", None),  # of a folder library
        ("ansible_collections.nobody.knows.plugins.modules.it", None),
    ],
)
def test_modules_of_ansible_and_of_this_tree_are_kept_and_of_a_folder_are_not(
    module: str, kept_as: str | None, places: Callable[[Path], None], tmp_path: Path
) -> None:
    places(tmp_path)
    assert kept_modules._kept(module) == kept_as


def test_a_module_of_a_tests_own_collection_is_kept_by_its_source(
    places: Callable[[Path], None], tmp_path: Path
) -> None:
    marks = set()
    for text in ("one = 1\n", "two = 2\n"):
        modules = tmp_path / text[:3] / "ansible_collections" / "community" / "docker" / "plugins" / "modules"
        modules.mkdir(parents=True)
        (modules / "docker_container_exec.py").write_text(text)
        places(tmp_path / text[:3])
        marks.add(kept_modules._kept(DOCKER))
        assert kept_modules._kept(DOCKER.replace("_exec", "_info")) is None, "not there"
    assert len(marks) == 2 and not marks & {"", None}


@pytest.mark.parametrize("more", ["plugins/module_utils/common.py", "plugins/modules/rdma_info.py"])
def test_what_else_an_archive_may_hold_keeps_nothing(more: str, places: Callable[[Path], None], tmp_path: Path) -> None:
    """Another copy of the collection; a module that imports from a collection."""
    copy = tmp_path / "ansible_collections" / "rocemesh" / "multinode"
    for path in ("plugins/modules/rdma_info.py", more):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text("")
    (copy / more).write_text("import ansible_collections.rocemesh.multinode.plugins.module_utils.common\n")
    places(tmp_path)
    assert kept_modules._kept(OURS) is None


def test_byte_code_is_kept_by_its_source(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    environment = {**os.environ, kept.FOLDER: str(folder), "PYTHONPATH": str(kept.HERE / "path")}
    count = []
    for name, text in (("one.zip", "said = 1\n"), ("two.zip", "said = 1\n"), ("three.zip", "said = 2\n")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("told.py", text)
        program = f"import sys; sys.path.insert(0, {str(tmp_path / name)!r}); import told; print(told.said)"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == text.removeprefix("said = ")
        count.append(len(list(folder.iterdir())))
    assert count == [1, 1, 2]


# ---- forks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("/bin/sh -c '/usr/bin/python3 && sleep 0'", ("/usr/bin/python3", {})),
        (
            "/bin/sh -c 'A=b C='\"'\"'d e'\"'\"' /usr/bin/python3 && sleep 0'",
            ("/usr/bin/python3", {"A": "b", "C": "d e"}),
        ),
        ("/bin/sh -c 'PYTHONPATH=/x /usr/bin/python3 && sleep 0'", None),
        ("/bin/sh -c '/usr/bin/python3 /tmp/AnsiballZ_command.py && sleep 0'", None),
        ("/bin/sh -c 'A=$HOME /usr/bin/python3 && sleep 0'", None),
        ("sudo -H -S -n -u root /bin/sh -c '/usr/bin/python3 && sleep 0'", None),
        ("/bin/sh -c 'echo ~ && sleep 0'", None),
    ],
)
def test_only_a_module_piped_into_an_interpreter_is_forked(
    command: str, found: tuple[str, dict[str, str]] | None
) -> None:
    assert kept_forks.pipelined(command) == found


@pytest.fixture
def forks(tmp_path: Path) -> kept_forks.Forks:
    return kept_forks.Forks(kept_forks.target(tmp_path))


def test_a_forked_module_has_its_environment_folder_and_streams(forks: kept_forks.Forks, tmp_path: Path) -> None:
    program = (
        b"import os, sys, ansible.module_utils._internal as common\n"
        b"print(os.environ['A'], os.getcwd(), sys.stdin.read(), __name__, common.is_controller)\n"
        b"print('basic' in dir(sys.modules['ansible.module_utils']), file=sys.stderr)\n"
        b"raise SystemExit(3)\n"
    )
    # what the archive of a module brings
    (tmp_path / "ansible.py").write_text("")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n".encode() + program
    code, said, errors = forks.run(sys.executable, {"A": "b"}, str(tmp_path), program) or (0, b"", b"")
    assert (code, said, errors) == (3, f"b {tmp_path}  __main__ False\n".encode(), b"True\n")


def test_forked_modules_share_nothing_and_a_killed_one_is_told(forks: kept_forks.Forks) -> None:
    program = b"import os, sys; print(getattr(sys, 'met', 0)); sys.met = 1; sys.stdout.flush(); os.kill(os.getpid(), 9)"
    for _turn in range(2):
        assert forks.run(sys.executable, {}, "/", program) == (137, b"0\n", b"")


def test_without_a_server_nothing_was_started(forks: kept_forks.Forks) -> None:
    assert forks.run("/bin/false", {}, "/", b"") is None
    assert forks.run("/no/such/python", {}, "/", b"") is None


def test_a_module_ends_with_the_worker_that_waits_for_it(forks: kept_forks.Forks, tmp_path: Path) -> None:
    program = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)".encode()
    with forks.connect(sys.executable) as connection, open(os.devnull, "wb") as nothing:
        head = json.dumps({"folder": "/", "environment": {}, "length": len(program)}).encode()
        socket.send_fds(connection, [head + b"\n"], [nothing.fileno()] * 2)
        connection.sendall(program)
        _until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
        pid = int((tmp_path / "pid").read_text())
        assert Path(f"/proc/{pid}").exists()
    _until(lambda: not Path(f"/proc/{pid}").exists())


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_play_gives_the_same_with_forks_and_without(tmp_path: Path) -> None:
    tasks = [
        {"ansible.builtin.command": "printenv ONE", "environment": {"ONE": "a b"}},
        {"ansible.builtin.command": "false", "ignore_errors": True},
        {"ansible.builtin.stat": {"path": "{{ playbook_dir }}/no"}},
        {"ansible.builtin.command": "pwd", "args": {"chdir": "/"}, "async": 20, "poll": 1},
    ]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    words = ("-v", "-i", "localhost,", "-e", f"ansible_python_interpreter={sys.executable}", "play.yml")
    timed = re.compile(r'"(?:start|end|delta|ansible_job_id|results_file)": "[^"]*",? ?|pid=\d+|ASYNC \w+ on.*')
    forked, started = (
        timed.sub("", plays.ansible(tmp_path, *words, **more).stdout) for more in ({}, {"ANSIBLE_PIPELINING": "0"})
    )
    assert forked == started
    assert '"stdout": "a b"' in forked
    assert "ok=4 " in forked


def test_a_forked_module_is_still_below_its_playbook(tmp_path: Path) -> None:
    """Also when the worker that started the server is gone: a run is known by this process."""
    above = "p=$$; while [ $p -gt 1 ]; do tr '\\0' ' ' < /proc/$p/cmdline; p=$(cut -d' ' -f4 /proc/$p/stat); done"
    task = {"ansible.builtin.command": {"argv": ["sh", "-c", above]}, "register": "found"}
    shown = {"ansible.builtin.debug": {"msg": "above: {{ 'ansible-playbook' in found.stdout }}"}}
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [task, shown, task, shown]}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    words = ("-i", "localhost,", "-e", f"ansible_python_interpreter={sys.executable}", "play.yml")
    assert plays.ansible(tmp_path, *words).stdout.count("above: True") == 2


def test_a_table_of_ansible_is_read_once_and_another_text_anew(tmp_path: Path) -> None:
    ask = (
        "import json, sys; sys.modules.update(json.loads(sys.argv[2]))\n"
        "from ansible.utils.collection_loader._collection_finder import _meta_yml_to_dict as read\n"
        "print(json.dumps(read(sys.argv[1], ('ansible.builtin', 'runtime.yml'))))"
    )

    def table(text: str, folder: str, without: dict[str, None] | None = None) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", ask, text, json.dumps(without or {})]
        there = {**os.environ, kept.FOLDER: folder}
        return subprocess.run(words, env=there, capture_output=True, text=True, check=False)

    text = "plugin_routing: {modules: {yum: {redirect: dnf}, version: 1.10}}"
    read = table(text, "")
    assert json.loads(read.stdout) == {"plugin_routing": {"modules": {"yum": {"redirect": "dnf"}, "version": "1.10"}}}
    assert table(text, str(tmp_path)).stdout == read.stdout
    assert table(text, str(tmp_path), {"yaml": None}).stdout == read.stdout, "nothing reads YAML here"
    assert "yaml" in table(text, "", {"yaml": None}).stderr
    assert "2.0" in table(text.replace("1.10", "2.0"), str(tmp_path)).stdout


def test_yaml_of_this_tree_is_read_once_and_another_text_or_place_anew(tmp_path: Path) -> None:
    ask = (
        "import copy, json, sys, yaml\n"
        "from ansible.parsing.yaml.loader import AnsibleLoader as loader\n"
        "from ansible._internal._datatag._tags import Origin, TrustedAsTemplate as trusted\n"
        "found = yaml.load(trusted().tag(Origin(path=sys.argv[1]).tag(sys.argv[2])), Loader=loader)\n"
        "copied = copy.deepcopy(found)\n"
        "assert copied == found and copied is not found and copied['b'] is not found['b']\n"
        "value = copied['b'][0]\n"
        "print(json.dumps(found), Origin.get_tag(value), trusted.is_tagged_on(value))"
    )
    tree = str(plays.ROOT / "roles" / "none.yml")
    text = "a: 1\nb: ['{{ c }}', 2.5]\n"

    def said(path: str, text: str, folder: Path | str) -> str:
        words = [sys.executable, "-c", ask, path, text]
        there = {**os.environ, kept.FOLDER: str(folder)}
        done = subprocess.run(words, env=there, capture_output=True, text=True, check=False)
        return done.stdout or done.stderr.strip().splitlines()[-1]

    read = said(tree, text, "")
    assert '"b": ["{{ c }}", 2.5]' in read and "none.yml:2:5 True" in read, read
    assert said(tree, text, tmp_path) == said(tree, text, tmp_path) == read
    assert len(list(tmp_path.glob("*.yaml"))) == 1
    assert '["{{ d }}", 2.5]' in said(tree, text.replace("c", "d"), tmp_path)
    assert "/none.yml:3:5" in said(tree, f"\n{text}", tmp_path)
    assert "other.yml:2:5" in said(tree.replace("none", "other"), text, tmp_path)
    assert len(list(tmp_path.glob("*.yaml"))) == 4
    said(str(tmp_path / "play.yml"), text, tmp_path)
    assert len(list(tmp_path.glob("*.yaml"))) == 4, "what a test brings is read as ever"


def test_a_template_is_compiled_once_and_in_another_way_where_it_has_another_meaning(tmp_path: Path) -> None:
    (tmp_path / "file.j2").write_text(r"{{ 'a\\b' }}")
    tasks = [
        {"ansible.builtin.debug": {"msg": r"{{ 'a\\b' }}"}},
        {"ansible.builtin.debug": {"msg": "{{ lookup('ansible.builtin.template', 'file.j2') }}"}},
        {
            "ansible.builtin.debug": {"msg": "{{ more is undefined }}"},
            "when": "no is undefined and item > 1",
            "loop": [1, 2],
        },
        {"ansible.builtin.debug": {"msg": "{{ 'no' | no.such.filter }}"}, "ignore_errors": True},
    ]
    play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    said = []
    folder = tmp_path / "kept"
    folder.mkdir()
    for kept_in in ("", str(folder), str(folder)):
        said.append(plays.ansible(tmp_path, "-i", "localhost,", "play.yml", **{kept.FOLDER: kept_in}))
    assert said[0].stdout == said[1].stdout == said[2].stdout
    assert [said[0].stdout.count(text) for text in (r"a\\\\b", r'"a\\b"', "no.such.filter", "ok=4")] == [1, 1, 3, 1], (
        said[0].stdout
    )
    assert list(folder.glob("*.template.*")) and list(folder.glob("*.expression.*"))
