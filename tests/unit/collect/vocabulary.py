"""The words that `collect` keeps in clear, counted in public sources of the field's programs and in this collection.

    python -m tests.unit.collect.vocabulary FOLDER... > plugins/module_utils/_collect/words.txt

A folder is a git directory, or a tree of files. A word is one of the field where enough of the sources use it. It joins
others where enough of them have it in identifiers, or where it is the collection's own; all others stand alone, for
people join such words to passwords. Of each source a sample is read, always the same.
The folder of these tests is none of the sources: the lists of secrets teach nothing. Sources of the list that ships: on
GitHub FRRouting/frr, NVIDIA/cloudai, NVIDIA/deepops, NVIDIA/nccl, NVIDIA/nvidia-container-toolkit,
NVIDIA/open-gpu-kernel-modules, Azure/azurehpc, Mellanox/network-operator-docs, ROCm/cvs, SchedMD/slurm,
ULHPC/tutorials, apache/mxnet, awslabs/awsome-distributed-ai, canonical/cloud-init, containers/podman,
converged-computing/performance-study, horovod/horovod, huggingface/pytorch-image-models, kubeflow/mpi-operator,
leptonai/gpud, linux-pam/linux-pam, linux-rdma/perftest, linux-rdma/rdma-core, networktocode/ntc-templates,
open-mpi/ompi, openssh/openssh-portable, openucx/ucx, prometheus/node_exporter, sonic-net/sonic-utilities,
sosreport/sos, stas00/ml-engineering, util-linux/util-linux, vmware/govmomi, vmware/open-vm-tools; of Debian 12 the
descriptions of packages, /usr/share/man, /usr/share/doc, /usr/include/linux, /usr/lib/python3.11, /lib/systemd.
"""

from __future__ import annotations

import collections
import gzip
import random
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).parents[3]
OWN = ("plugins", "roles", "playbooks", "lab/gym", "tests/unit/results/fixtures", "tests/unit/doctor/healthy.py")
# Of the field, and missed by the samples.
MORE = (
    "asus",
    "aufs",
    "autograd",
    "cpumap",
    "dlvsym",
    "dmlc",
    "edk",
    "gperftools",
    "inductor",
    "linalg",
    "ncclgroupstart",
    "nchw",
    "netlib",
    "pytree",
    "reraise",
    "runpy",
    "vpid",
)
SAMPLE = 14_000_000  # bytes of a source
LARGEST = 250_000
# A word of so many letters needs so many sources, or to be one of the collection's own; one of two letters needs to be
# in so many files, too.
LEAST = {2: 12, 3: 9, 4: 5}
FILES = 130
JOINING = 6  # sources with the word in identifiers
Counts = collections.Counter  # of words
_TEXT = re.compile(
    r"\.(?:md|rst|txt|log|out|raw|c|h|cc|cu|py|go|sh|ya?ml|conf|cfg|in|[1-8](?:\.gz)?|man|adoc|j2|service|json|catalog)$"
    r"|(?:^|/)(?:README|NEWS|ChangeLog|changelog)[^/]*$"
)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]+[A-Z][A-Za-z0-9]*|[A-Z][a-z]+[A-Z][A-Za-z0-9]*")
_MIXED = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z]{1,3}\d{1,3}[A-Za-z]{1,4}|\d[A-Za-z]\d)(?![A-Za-z0-9])")


def words(text: str) -> Iterator[str]:
    for run in re.findall(r"[A-Za-z]+", text):
        yield run.lower()
        yield from (part.lower() for part in _PART.findall(run))
    yield from (each.lower() for each in _MIXED.findall(text))


def joined(text: str) -> set[str]:
    return {part.lower() for each in set(_IDENTIFIER.findall(text)) for part in _PART.findall(each)}


def texts(folder: Path) -> Iterator[str]:
    """A sample of the texts of a source."""
    if (folder / "objects").is_dir():
        yield from _of_git(folder)
        return
    paths = sorted(
        path for path in [folder, *folder.rglob("*")] if _TEXT.search(str(path)) and "_collect" not in str(path)
    )
    random.Random(0).shuffle(paths)
    total = 0
    for path in paths:
        if total < SAMPLE and path.is_file() and path.stat().st_size < LARGEST:
            data = path.read_bytes()
            total += len(data)
            yield (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")


def _of_git(folder: Path) -> Iterator[str]:
    git = ["git", "-C", str(folder)]
    chosen = []
    for row in subprocess.run(
        [*git, "ls-tree", "-r", "-l", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.splitlines():
        (_mode, kind, blob, size), name = row.partition("\t")[0].split(), row.partition("\t")[2]
        if kind == "blob" and size.isdigit() and int(size) < LARGEST and _TEXT.search(name):
            chosen.append((blob, int(size)))
    random.Random(0).shuffle(chosen)
    while sum(size for _blob, size in chosen) > SAMPLE:
        chosen = chosen[: len(chosen) * 9 // 10]
    wanted = "\n".join(blob for blob, _size in chosen).encode()
    data = subprocess.run([*git, "cat-file", "--batch"], input=wanted, check=True, capture_output=True).stdout
    place = 0
    while place < len(data):
        head, place = data[place : data.index(b"\n", place)].split(), data.index(b"\n", place) + 1
        if len(head) == 3 and head[1] == b"blob":
            yield data[place : place + int(head[2])].decode("utf-8", "replace")
            place += int(head[2]) + 1


def counted(folders: list[Path]) -> tuple[Counts[str], Counts[str], Counts[str], set[str]]:
    """Word -> sources, and files, that use it, and sources that join it; and the collection's own words."""
    joining: Counts[str] = collections.Counter()
    sources: Counts[str] = collections.Counter()
    files: Counts[str] = collections.Counter()
    for folder in folders:
        seen: set[str] = set()
        seen_joined: set[str] = set()
        for text in texts(folder):
            found = {word for word in words(text) if 1 < len(word) <= 20}
            files.update(found)
            seen |= found
            seen_joined |= joined(text)
        sources.update(seen)
        joining.update(seen_joined)
    own = set(MORE) | {
        word
        for name in OWN
        for text in texts(ROOT / name)
        for word in [*words(text), *re.findall(r"\b(?=[a-z]*[g-z])[a-z]+\d{1,3}[a-z]+\d{0,2}\b", text.lower())]
    }
    return sources, files, joining, own


def vocabulary(
    sources: Counts[str], files: Counts[str], joining: Counts[str], own: set[str]
) -> tuple[list[str], list[str], list[str]]:
    """Words of everyday use (three quarters of the sources have them), of the field, and those that stand alone."""
    everyday = max(sources.values()) * 3 // 4
    common: set[str] = set()
    field: set[str] = set()
    alone: set[str] = set()
    for word in sorted({*sources, *own}, key=lambda each: (len(each), each)):
        used = sources[word] >= LEAST.get(len(word), LEAST[4]) or (
            word in own and len(word) > 2 and (len(word) > 3 or sources[word] > 2)
        )
        if not 1 < len(word) <= 20 or not used or (len(word) == 2 and files[word] < FILES):
            continue
        if word.isalpha() and sources[word] >= everyday:
            common.add(word)
        else:
            joins = len(word) < 4 or not word.isalpha() or joining[word] >= JOINING or word in own
            (field if joins else alone).add(word)
    return sorted(common), sorted(field), sorted(alone)


def listed(*blocks: list[str]) -> str:
    made = (
        "# Made by tests/unit/collect/vocabulary.py: words of everyday use, of the field, and of it but never joined."
    )
    return "\n\n".join([made, *(textwrap.fill(" ".join(each), 118) for each in blocks)]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(listed(*vocabulary(*counted([Path(name) for name in sys.argv[1:]]))))
