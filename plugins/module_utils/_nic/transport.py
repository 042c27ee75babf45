"""The card's tools on this node: finds them, runs them, turns what they print into state and typed errors.

Rules: C locale, no shell, stdin closed (a question would otherwise wait for ever), options before the command, one
parameter per query (a query of all takes up to 20 s per card), never -yy, --force or reset. PCI addresses are given to
-d: they need neither `mst start` nor a kernel module.

Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import shutil
import subprocess
import tempfile
from typing import Any, Callable, Mapping, Sequence

from .._layer import ApplyError, CredentialError, LayerError, ParseError, RefusedError, UnreachableError
from . import plan as planning
from . import state as parsing
from .state import Failure, NicDevice, PciAts, PciFunction, Query
from .tool_state import environment_of, parse_mst_status, parse_reset_query, parse_vpd_serial

TOOLS = ("mlxconfig", "mstconfig")
_JSON_SINCE = (4, 31)
# Where the kernel's view of the hardware is, if not in /sys: a twin of the hardware mounts its own there.
SYSFS_VARIABLE = "ROCEMESH_SYSFS_ROOT"
_NO_DPU = 1  # INTERNAL_CPU_OFFLOAD_ENGINE: DISABLED(1) is a plain NIC
_EXTRA_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclasses.dataclass(frozen=True)
class Finished:
    """``code`` is the exit status; a command that never ended raises `TimeoutError` instead."""

    code: int
    out: str
    err: str


Run = Callable[[Sequence[str], float], Finished]
Which = Callable[[str], "str | None"]


def run_command(argv: Sequence[str], timeout: float) -> Finished:
    """Run without a shell, in the C locale, with no stdin. Raises `TimeoutError` after ``timeout`` seconds."""
    environment = dict(os.environ, LC_ALL="C", LANGUAGE="C")
    try:
        done = subprocess.run(
            list(argv), stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return Finished(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def find_program(name: str) -> str | None:
    """On PATH or in the system's own directories, which a restricted PATH may lack."""
    return shutil.which(name) or shutil.which(name, path=_EXTRA_PATH)


class Sysfs:
    """What the kernel knows beside the tools. Everything is optional: a container shows another machine's bus.

    ``root``: None is /sys, or what the environment variable ROCEMESH_SYSFS_ROOT says. ``proc`` is beside it.
    """

    def __init__(self, root: str | None = None) -> None:
        self.root = root or os.environ.get(SYSFS_VARIABLE) or "/sys"
        self.proc = os.path.join(os.path.dirname(self.root.rstrip("/")), "proc")

    @property
    def simulated(self) -> bool:
        """Whether this is a twin's tree and not the kernel's."""
        return os.path.exists(os.path.join(self.root, "SIMULATED"))

    def read_proc(self, name: str) -> str:
        return self.read(os.path.join(self.proc, name))

    def read(self, *parts: str) -> str:
        try:
            with open(os.path.join(self.root, *parts), encoding="utf-8", errors="replace") as handle:
                return handle.read().strip()
        except OSError:
            return ""

    def _device(self, address: str) -> str:
        return os.path.join(self.root, "bus/pci/devices", address)

    def bus(self) -> list[PciFunction]:
        found = []
        for path in sorted(glob.glob(os.path.join(self.root, "bus/pci/devices", "*"))):
            address = parsing.full_address(os.path.basename(path))
            words = [self.read(path, name).replace("0x", "") for name in ("class", "vendor", "device")]
            if address and all(words):
                found.append(PciFunction(address, words[0][:4], words[1], words[2]))
        return found

    def knows(self, function: PciFunction) -> bool:
        """True only if the kernel has the same device at the address: else its other files speak of something else."""
        path = self._device(function.address)
        found = [self.read(path, name) for name in ("vendor", "device")]
        return found == [f"0x{function.vendor}", f"0x{function.device_id}"]

    def is_vf_of_a_local_card(self, function: PciFunction) -> bool:
        return self.knows(function) and os.path.exists(os.path.join(self._device(function.address), "physfn"))

    def infiniband(self, function: PciFunction, name: str) -> str:
        if not self.knows(function):
            return ""
        for path in sorted(glob.glob(os.path.join(self._device(function.address), "infiniband", "*"))):
            text = self.read(path, name)
            if text:
                return text
        return ""

    def addresses_of(self, name: str) -> list[str]:
        """PCI addresses behind an interface, an RDMA device or a GUID; empty when the kernel knows no such thing."""
        for kind in ("class/net", "class/infiniband"):
            link = os.path.join(self.root, kind, name, "device")
            if os.path.basename(name) == name and os.path.exists(link):
                address = parsing.full_address(os.path.basename(os.path.realpath(link)))
                return [address] if address else []
        guid = name.replace(":", "").lower()
        found = []
        for path in sorted(glob.glob(os.path.join(self.root, "class/infiniband", "*"))):
            guids = [self.read(path, attribute).replace(":", "") for attribute in ("sys_image_guid", "node_guid")]
            address = parsing.full_address(os.path.basename(os.path.realpath(os.path.join(path, "device"))))
            if guid in guids and address:
                found.append(address)
        return found

    def config_space_bytes(self, function: PciFunction) -> int | None:
        if self.knows(function):
            with contextlib.suppress(OSError):
                return os.stat(os.path.join(self._device(function.address), "config")).st_size
        return None

    def lockdown(self) -> str:
        """``integrity`` or ``confidentiality`` when the kernel forbids raw hardware access, else ''."""
        words = [word for word in self.read("kernel/security/lockdown").split() if word.startswith("[")]
        mode = words[0].strip("[]") if words else ""
        return "" if mode == "none" else mode


class NicTools:
    """One node's tools. Everything that touches the outside comes in through the constructor."""

    def __init__(
        self,
        host: str,
        *,
        tool: str = "auto",
        timeout: float = 60.0,
        run: Run = run_command,
        which: Which = find_program,
        sysfs: Sysfs | None = None,
        is_root: bool | None = None,
    ) -> None:
        self.host = host
        self.timeout = timeout
        self.sysfs = sysfs or Sysfs()
        self._run = run
        self._which = which
        self._wanted_tool = tool
        self._is_root = os.geteuid() == 0 if is_root is None else is_root
        self._path = ""
        self.tool = ""
        self.version = ""
        self.notes: list[str] = []
        self._json = False
        self._mst: Mapping[str, str] | None = None

    def _error(self, kind: type[LayerError], what: str, remedy: str, thing: str, value: Any = None) -> LayerError:
        return kind(what, host=self.host, thing=thing, value=value, remedy=remedy)

    # ---- commands ---------------------------------------------------------------------------------------------------

    def run(self, argv: Sequence[str], thing: str = "") -> Finished:
        try:
            return self._run(argv, self.timeout)
        except TimeoutError:
            what = f"{os.path.basename(argv[0])} did not answer within {self.timeout:g} s and was stopped"
            remedy = "look for another tool that holds the card's semaphore, or raise query_timeout"
            raise self._error(UnreachableError, what, remedy, thing or argv[0], " ".join(argv[1:])) from None
        except OSError as error:
            remedy = "reinstall the package that the program belongs to"
            raise self._error(UnreachableError, f"cannot be run: {error.strerror}", remedy, argv[0]) from None

    def open(self) -> None:
        """Root, a tool and its version; raises before anything is asked of a card."""
        if not self._is_root:
            what = "the card's configuration needs root: without it the tool reports a missing device"
            raise self._error(CredentialError, what, "run the task with become: true", "user id", os.geteuid())
        self.notes, self._mst = [], None
        names = TOOLS if self._wanted_tool == "auto" else (self._wanted_tool,)
        found = [(name, path) for name, path in ((name, self._which(name)) for name in names) if path]
        if not found:
            remedy = "install the package mstflint (it needs no kernel module), or MLNX_OFED / MFT"
            raise self._error(RefusedError, "is not installed", remedy, " or ".join(names))
        versions = [parsing.parse_tool_version(self.run([path, "-v"]).out) for _name, path in found]
        chosen = parsing.first_that_knows([numbers for _text, numbers in versions])
        self.tool, self._path = found[chosen]
        self.version, numbers = versions[chosen]
        self._json = numbers >= _JSON_SINCE
        if (0, 0) < numbers < parsing.FIRST_VERSION:
            self.notes.append(
                f"{self.tool} {self.version} is older than 4.13, the first that knows {parsing.PARAMETER}"
            )

    def environment(self) -> str:
        """``vm``, ``bare_metal`` or ``unknown``."""
        detect = self._which("systemd-detect-virt")
        done = self.run([detect, "--vm"]) if detect else Finished(-1, "", "")
        return environment_of(done.code if detect else None, done.out, self.sysfs.read_proc("cpuinfo"))

    def mst_path(self, device: str) -> str:
        """The /dev/mst path of a function; '' without MFT, while mst is stopped, or when mst prints something new."""
        if self._mst is None:
            self._mst = {}
            mst = self._which("mst")
            if mst:
                done = self.run([mst, "status", "-v"])
                try:
                    self._mst = parse_mst_status(done.out, self.host) if done.code == 0 else {}
                except ParseError as error:
                    self.notes.append(f"no /dev/mst paths: {error}".rstrip("."))
        return self._mst.get(device, "")

    def reboot_kind(self, device: str) -> str:
        """What the card says of a warm reboot: ``reboot``, ``power_cycle``, or '' when no tool can ask. Read-only."""
        reset = self._which("mlxfwreset") or self._which("mstfwreset")
        done = self.run([reset, "-d", device, "query"], device) if reset else Finished(-1, "", "")
        try:
            return parse_reset_query(done.out, self.host) if done.code == 0 else ""
        except ParseError as error:
            self.notes.append(f"the way of the restart is not known: {error}".rstrip("."))
            return ""

    # ---- the bus ----------------------------------------------------------------------------------------------------

    def bus(self) -> list[PciFunction]:
        """Mellanox functions of this VM. lspci first: the kernel's own list may be that of a machine underneath."""
        lspci = self._which("lspci")
        if lspci:
            done = self.run([lspci, "-Dnmm", "-d", f"{parsing.MELLANOX}:"])
            if done.code != 0:
                raise ParseError(
                    f"lspci ended with exit code {done.code}", host=self.host, thing=lspci, raw=done.out + done.err
                )
            functions = parsing.parse_bus(done.out, self.host)
        else:
            functions = self.sysfs.bus()
        return [function for function in functions if function.is_nic]

    def choose(self, wanted: Sequence[str]) -> list[PciFunction]:
        """``auto`` takes every function, but leaves out virtual functions of a card that this VM owns itself."""
        functions = self.bus()
        if list(wanted) == ["auto"]:
            chosen = [function for function in functions if not self.sysfs.is_vf_of_a_local_card(function)]
            if not chosen:
                what = "no Mellanox network function on this node's PCI bus"
                remedy = "pass the card through to this VM and power it on; look with lspci -d 15b3:"
                raise self._error(RefusedError, what, remedy, "device", "auto")
            return chosen
        on_bus = {function.address: function for function in functions}
        chosen = []
        for text in wanted:
            addresses = [address for address in self._addresses(text, functions) if address in on_bus]
            if not addresses:
                what = "is no PCI address, interface, RDMA device, GUID or serial number of a Mellanox function here"
                what = f"{what}; there are: {', '.join(on_bus) or 'none'}"
                remedy = "name functions as lspci -D prints them (0000:3b:00.0), or write auto alone"
                raise self._error(RefusedError, what, remedy, "device", text)
            chosen += [on_bus[address] for address in addresses if on_bus[address] not in chosen]
        return chosen

    def _addresses(self, text: str, functions: Sequence[PciFunction]) -> list[str]:
        """Functions that a name means: one for an address or interface, all of the card for a GUID or serial number."""
        address = parsing.full_address(text)
        if address:
            return [address]
        if text == "auto" or "/" in text:
            return []
        found = self.sysfs.addresses_of(text)
        lspci = self._which("lspci")
        if found or not lspci:
            return found
        return [
            function.address
            for function in functions
            if parse_vpd_serial(self.run([lspci, "-D", "-vvv", "-s", function.address], function.address).out) == text
        ]

    def pci_ats(self, function: PciFunction) -> PciAts | None:
        """None when setpci is not installed."""
        setpci = self._which("setpci")
        if not setpci:
            return None
        done = self.run([setpci, "-s", function.address, "ECAP_ATS+6.w"], function.address)
        return parsing.parse_setpci_ats(done.out, done.err, done.code, self.host, function.address)

    # ---- the card ---------------------------------------------------------------------------------------------------

    def _failure(self, done: Finished, device: str) -> Failure:
        failure = parsing.classify(done.out, done.err)
        if failure in (Failure.CANNOT_OPEN, Failure.UNIDENTIFIED) and self.sysfs.lockdown():
            return Failure.LOCKDOWN
        if failure is Failure.UNKNOWN:
            raise ParseError(
                f"{self.tool} ended with exit code {done.code} and an unknown error",
                host=self.host,
                thing=device,
                raw=(done.out + done.err).strip(),
            )
        return failure

    def error(self, failure: Failure, done: Finished, device: str, kind: type[LayerError] | None = None) -> LayerError:
        """The failure in words; ``kind`` overrides its class (whatever breaks in the middle of a change)."""
        usual, what, remedy = _ERRORS[failure]
        said = parsing.first_error(done.out)
        return (kind or usual)(
            f"{what} ({self.tool} {self.version}: {said!r})",
            host=self.host,
            thing=device,
            remedy=remedy.format(device=device, lockdown=self.sysfs.lockdown() or "unknown"),
            failure=failure.value,
            diagnosis=failure.value,
        )

    def query(self, device: str, parameter: str) -> Query | Failure:
        """Ask one parameter of one function. A parameter that is not there is an answer; everything else raises."""
        if not self._json:
            done = self.run([self._path, "-d", device, "-e", "query", parameter], device)
            queries = parsing.parse_query(done.out, self.host) if done.code == 0 else []
        else:
            # A directory of our own: the tool creates the file, and no other user can put one there first.
            with tempfile.TemporaryDirectory(prefix="rocemesh-nic-") as directory:
                path = os.path.join(directory, "query.json")
                done = self.run([self._path, "-d", device, "-e", "-j", path, "query", parameter], device)
                if done.code != 0 and parsing.classify(done.out, done.err) is Failure.BAD_ARGUMENT:
                    self._json = False  # a build without JSON: the table says the same
                    return self.query(device, parameter)
                queries = parsing.parse_query_json(self._read(path, done, device), self.host) if done.code == 0 else []
        if done.code != 0:
            failure = self._failure(done, device)
            if failure in (Failure.UNSUPPORTED_PARAMETER, Failure.UNKNOWN_PARAMETER):
                return failure
            raise self.error(failure, done, device)
        if len(queries) != 1 or parsing.full_address(queries[0].device) != device:
            raise ParseError("the answer is about another device", host=self.host, thing=device, raw=done.out)
        if parameter not in queries[0].values:
            return Failure.UNSUPPORTED_PARAMETER
        return queries[0]

    def _read(self, path: str, done: Finished, device: str) -> str:
        try:
            with open(path, encoding="utf-8") as handle:
                return handle.read()
        except OSError:
            raise ParseError(
                f"{self.tool} wrote no JSON file", host=self.host, thing=device, raw=done.out + done.err
            ) from None

    def refuse_dpu(self, function: PciFunction) -> None:
        """A BlueField in DPU mode belongs to its own operating system. Not verified on hardware."""
        if function.device_id not in parsing.BLUEFIELD_IDS:
            return
        answer = self.query(function.address, parsing.OFFLOAD_PARAMETER)
        printed = {} if isinstance(answer, Failure) else answer.values[parsing.OFFLOAD_PARAMETER]
        shown = printed.get("current", printed.get("next", "unknown"))
        if parsing.parse_enum_code(shown) != _NO_DPU:
            what = f"a BlueField that is not known to be in NIC mode; {parsing.OFFLOAD_PARAMETER} is {shown}"
            remedy = "configure it from its own operating system, or put it into NIC mode first"
            raise self._error(RefusedError, what, remedy, function.address)

    def identity(self, function: PciFunction) -> tuple[str, str]:
        """(PSID, running firmware): from the driver, else from the firmware tool; empty when neither knows."""
        psid, firmware = self.sysfs.infiniband(function, "board_id"), self.sysfs.infiniband(function, "fw_ver")
        flint = self._which("mstflint") or self._which("flint")
        if (psid and firmware) or not flint or function.is_vf:
            return psid, firmware
        done = self.run([flint, "-d", function.address, "q"], function.address)
        return parsing.parse_flint(done.out) if done.code == 0 else (psid, firmware)

    def card_of(self, function: PciFunction) -> str:
        """Key of the physical card: both functions of a two-port card carry the same system image GUID."""
        guid = self.sysfs.infiniband(function, "sys_image_guid").replace(":", "")
        return guid if guid.strip("0") else function.address.rsplit(".", 1)[0]

    def device(self, function: PciFunction, verify_pci: bool) -> NicDevice:
        psid, firmware = self.identity(function)
        base = NicDevice(
            pci=function.address,
            device_id=function.device_id,
            card=self.card_of(function),
            is_vf=function.is_vf,
            supported=False,
            psid=psid,
            firmware=firmware,
            pci_ats=self.pci_ats(function) if verify_pci else None,
            config_space_bytes=self.sysfs.config_space_bytes(function),
            mst=self.mst_path(function.address),
        )
        if function.is_vf:
            return dataclasses.replace(base, problem="virtual_function")
        self.refuse_dpu(function)
        answer = self.query(function.address, parsing.PARAMETER)
        if isinstance(answer, Failure):
            old = answer is Failure.UNKNOWN_PARAMETER
            return dataclasses.replace(base, problem="tool_too_old" if old else "unsupported")
        values: Mapping[str, str] = answer.values[parsing.PARAMETER]
        where = f"{function.address} {parsing.PARAMETER}"
        stored = parsing.parse_flag(values.get("next"), self.host, where)
        if stored is None:
            raise ParseError("no Next Boot value", host=self.host, thing=where, raw=repr(dict(values)))
        return dataclasses.replace(
            base,
            supported=True,
            device_type=answer.device_type,
            name=answer.name,
            description=answer.description,
            default=parsing.parse_flag(values.get("default"), self.host, where),
            current=parsing.parse_flag(values.get("current"), self.host, where),
            next=stored,
        )

    def set(self, device: str, enabled: bool) -> str:
        """Store the next-boot value; returns the kind of restart that the tool asks for. Always writes: plan first."""
        done = self.run([self._path, *planning.set_arguments(device, enabled)], device)
        if done.code != 0:
            failure = self._failure(done, device)
            raise self.error(failure, done, device, ApplyError)
        return parsing.parse_reboot_kind(done.out)


_ERRORS: dict[Failure, tuple[type[LayerError], str, str]] = {
    Failure.CANNOT_OPEN: (
        UnreachableError,
        "the tool cannot open the card although it is on the bus",
        "check that no other tool uses it and that it answers (dmesg | grep mlx5); mstconfig -d {device} query by hand",
    ),
    Failure.LOCKDOWN: (
        RefusedError,
        "the kernel forbids raw access to hardware (lockdown, as under Secure Boot)",
        "boot the VM without Secure Boot for this step, or use a tool that works under lockdown (of mstflint, 4.32 does"
        " and 4.33 does not); /sys/kernel/security/lockdown says {lockdown}",
    ),
    Failure.UNIDENTIFIED: (
        RefusedError,
        "the tool opens the device and cannot identify it: a virtual function, a newer card than the tool knows,"
        " or kernel lockdown",
        "use the physical function, update the tool, and look at /sys/kernel/security/lockdown (it says {lockdown})",
    ),
    Failure.LIVEFISH: (RefusedError, "the card runs without firmware (livefish)", "burn its firmware first"),
    Failure.UNSUPPORTED_DEVICE: (RefusedError, "the tool does not serve this card", "use a ConnectX-5 or newer"),
    Failure.NO_DEVICES: (UnreachableError, "the tool sees no card", "check the passthrough of this VM"),
    Failure.NO_NV_ACCESS: (
        RefusedError,
        "the firmware gives no access to its configuration: too old, or restricted by the host",
        "update the firmware, or lift the restriction from the host (mlxprivhost)",
    ),
    Failure.NEEDS_POWER_CYCLE: (
        RefusedError,
        "the card does not answer about its configuration registers since its last restart",
        "power the server off and on; a warm reboot is not enough",
    ),
    Failure.PARTIAL: (UnreachableError, "the card answered only part of the query", "ask again; then check dmesg"),
    Failure.READ_ONLY: (RefusedError, "the parameter is read-only on this card", "ask the vendor of the card"),
    Failure.NOT_CONFIGURABLE: (RefusedError, "the card has nothing to configure", "use a ConnectX-5 or newer"),
    Failure.ABORTED: (ApplyError, "the tool stopped at its own question", "report this: -y should have answered it"),
    Failure.SET_FAILED: (ApplyError, "the card refused the value", "read the reason in the quoted text; check dmesg"),
    Failure.BAD_ARGUMENT: (ApplyError, "the tool does not take these arguments", "report the version of the tool"),
    Failure.UNSUPPORTED_PARAMETER: (RefusedError, "the firmware has no such parameter", "update the firmware"),
    Failure.UNKNOWN_PARAMETER: (RefusedError, "the tool has no such parameter", "install version 4.13 or newer"),
}
