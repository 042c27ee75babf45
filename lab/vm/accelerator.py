"""KVM or software emulation: KVM only where the processor has it and a kernel really boots under it.

That /dev/kvm can be opened proves nothing: some machines offer one that emulates what a kernel does, slower than QEMU.
"""

from __future__ import annotations

from pathlib import Path

from .. import config, engine, files
from . import machine

PROBE_SECONDS = 5
# Up to the login, both at once. 68 to 277 s were measured, on two cores with much other work on them.
_TCG_BOOT = "an estimated minute for two VMs at once on two free cores, and several minutes on busy ones"
# No root: a kernel that came so far restarts at once, and QEMU ends instead.
_PROBE = (
    *("qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot", "-m", "256"),
    *("-machine", "q35", "-accel", "kvm", "-cpu", "host", "-serial", "stdio"),
    *("-kernel", machine.KERNEL, "-append", "console=ttyS0 panic=-1 root=/dev/none"),
)


def has_virtualisation(cpuinfo: str) -> bool:
    """Text of /proc/cpuinfo."""
    flags = next((line.split(":", 1)[1].split() for line in cpuinfo.splitlines() if line.startswith("flags")), [])
    return bool({"vmx", "svm"} & set(flags))


def ensure(paths: config.Paths) -> str:
    """Chooses once per lab, and says why."""
    chosen = paths.root / "accelerator"
    if not chosen.exists():
        files.write(chosen, _choose() + "\n")
    return chosen.read_text().strip()


def _choose() -> str:
    """``kvm`` or ``tcg``, then words for people."""
    if not Path("/dev/kvm").exists():
        why = "there is no /dev/kvm"
    elif not has_virtualisation(Path("/proc/cpuinfo").read_text()):
        why = "the processor shows neither vmx nor svm, whatever /dev/kvm is"
    elif not boots():
        why = f"a kernel did not boot under /dev/kvm within {PROBE_SECONDS} s"
    else:
        return "kvm (a kernel booted under it; how fast a whole lab is was not measured)"
    return f"tcg, software emulation: {why}; a boot takes {_TCG_BOOT}"


def boots() -> bool:
    done = engine.docker(
        *("run", "--rm", "--network", "none", "--device", "/dev/kvm", "--entrypoint", "timeout", config.VM_IMAGE),
        *("-s", "KILL", str(PROBE_SECONDS), *_PROBE),
        check=False,
    )
    return done.returncode == 0 and "Unable to mount root fs" in done.stdout
