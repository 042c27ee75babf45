"""Images of the lab, each built only when its sources, or the base under it, changed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

from . import config, engine, files
from .rehearsal import simulators

CONTEXTS = {
    config.NODE_IMAGE: config.REPO / "lab" / "node",
    config.REGISTRY_IMAGE: config.REPO / "lab" / "registry",
    config.VSPHERE_IMAGE: config.REPO / "lab" / "vsphere",
    config.VM_IMAGE: config.REPO / "lab" / "vm",
    config.JOB_IMAGE: config.REPO / "lab" / "job",
}


def digest(context: Path, base_id: str) -> str:
    """sha256 over names, modes and contents below ``context`` and the id of the base image."""
    total = hashlib.sha256(base_id.encode())
    for path in sorted(context.rglob("*")):
        relative = path.relative_to(context)
        if "__pycache__" in relative.parts or path.suffix in (".md", ".py"):
            continue
        if path.is_symlink():
            total.update(f"\0{relative}\0link\0{os.readlink(path)}".encode())
        elif path.is_file():
            total.update(f"\0{relative}\0{path.stat().st_mode & 0o777:o}\0".encode())
            total.update(path.read_bytes())
    return total.hexdigest()


def ensure(image: str) -> str:
    """Builds ``image`` if needed; returns "already there" or "built"."""
    context = CONTEXTS[image]
    if not (context / "Dockerfile").exists():
        raise config.LabError(f"{context.relative_to(config.REPO)}/Dockerfile is missing: {image} cannot be built")
    # The guest of a VM is the node; what that is made of is then in its id.
    under = config.NODE_IMAGE if image == config.VM_IMAGE else config.BASE_IMAGE
    base = engine.inspect("image", under)
    if base is None:
        raise config.LabError(f"the image {under} is missing; run `python -m lab up`")
    wanted = digest(context, base["Id"])
    present = engine.inspect("image", image)
    if present and (present["Config"]["Labels"] or {}).get(config.SOURCES_LABEL) == wanted:
        return "already there"
    packages = config.SCHEDULERS[config.SCHEDULER] if image == config.NODE_IMAGE else ""
    engine.docker(
        *("build", "--quiet", "--tag", image, "--label", f"{config.SOURCES_LABEL}={wanted}"),
        *("--build-arg", f"BASE_IMAGE={config.BASE_IMAGE}"),
        *(("--build-arg", f"NODE_IMAGE={under}") if image == config.VM_IMAGE else ()),
        *(("--build-arg", f"SCHEDULER_PACKAGES={packages}") if packages else ()),
        str(context),
        timeout=1800,
    )
    if present and present["Id"] != engine.inspect("image", image)["Id"]:
        # The one before has no name any more; where a node still runs on it, it stays until that node goes.
        engine.docker("rmi", present["Id"], check=False)
    return "built"


GOVMOMI = Path("/usr/share/gocode/src/github.com/vmware/govmomi")


def ensure_vsphere(paths: config.Paths) -> str:
    """The simulator built: by the Go of this machine, else in an image that has one."""
    if not _go_is_here():
        return ensure(config.VSPHERE_IMAGE)
    target, mark = paths.bin / "labvsphere", paths.bin / "labvsphere.json"
    wanted = digest(CONTEXTS[config.VSPHERE_IMAGE], "")
    if target.exists() and files.read_json(mark) == wanted:
        return "already there"
    paths.bin.mkdir(parents=True, exist_ok=True)
    # A running simulator keeps the old file; the name has the new one.
    fresh = target.with_name("labvsphere.new")
    shutil.copy2(simulators.build_vcenter(), fresh)
    fresh.replace(target)
    files.write(mark, json.dumps(wanted))
    return "built by this machine's Go"


def _go_is_here() -> bool:
    return bool(shutil.which("go")) and GOVMOMI.is_dir()


def vsphere_binary(paths: config.Paths) -> Path:
    """The simulator's binary, copied out of its image, where it has one, when the image is newer than the copy."""
    target, mark = paths.bin / "labvsphere", paths.bin / "labvsphere.json"
    if _go_is_here():
        ensure_vsphere(paths)
        return target
    image = engine.inspect("image", config.VSPHERE_IMAGE)
    if target.exists() and files.read_json(mark) == image["Id"]:
        return target
    inside = (image["Config"]["Entrypoint"] or ["/labvsphere"])[0]
    paths.bin.mkdir(parents=True, exist_ok=True)
    container = engine.docker("create", config.VSPHERE_IMAGE, inside).stdout.strip()
    try:
        fresh = target.with_name("labvsphere.new")
        engine.docker("cp", f"{container}:{inside}", str(fresh))
        fresh.chmod(0o755)
        # A running simulator keeps the old file; the name has the new one.
        fresh.replace(target)
    finally:
        engine.docker("rm", container)
    files.write(mark, json.dumps(image["Id"]))
    return target


def remove_all() -> list[str]:
    """Removes every image of the lab; returns their names."""
    gone = []
    for image in config.IMAGES:
        if engine.inspect("image", image):
            engine.docker("rmi", "--force", image)
            gone.append(image)
    left = engine.docker("images", "--quiet", "--filter", f"label={config.SOURCES_LABEL}").stdout.split()
    if left:
        engine.docker("rmi", "--force", *dict.fromkeys(left), check=False)
    return gone


def remove_cache() -> list[str]:
    if not config.CACHE_DIR.exists():
        return []
    shutil.rmtree(config.CACHE_DIR)
    return [str(config.CACHE_DIR)]
