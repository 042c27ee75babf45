"""The connection to vCenter or ESXi: login, lookups, one bulk read per question, tasks, esxcli. pyVmomi stays in here.

Every fault leaves as a `LayerError` that names the fault type, its message and a missing privilege.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import socket
import ssl
import threading
import time
import traceback
import xml.etree.ElementTree
import xml.parsers.expat
from typing import Any, Callable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from .._layer import ApplyError, CredentialError, LayerError, ParseError, RefusedError, UnreachableError, place_of
from . import esxcli
from .keys import RESERVATION_FIELD
from .parallel import WORKERS
from .state import type_name

PYVMOMI_IMPORT_ERROR = ""  # traceback of the failed import
pyvim_connect: Any = None
pyvmomi: Any = None
try:
    import pyVim.connect as pyvim_connect
    import pyVmomi as pyvmomi
except ImportError:
    PYVMOMI_IMPORT_ERROR = traceback.format_exc()
# pyVmomi makes its types when they are first asked for, so there is nothing to check statically
vim: Any = getattr(pyvmomi, "vim", None)
vmodl: Any = getattr(pyvmomi, "vmodl", None)
VmomiSupport: Any = getattr(pyvmomi, "VmomiSupport", None)

# What says of a host or a VM which one it is, whatever its name and id are.
HOST_UUID, VM_UUID = "hardware.systemInfo.uuid", "config.instanceUuid"
PATIENCE = 60.0  # seconds for a vCenter that restarts; then a request whose answer was lost counts as never received
# What a broken or refused connection raises below pyVmomi.
BROKEN_LINK = (OSError, http.client.HTTPException)
# What an answer raises that is no SOAP: a proxy's empty 200, half a document, a page of another service.
NO_SOAP = (xml.parsers.expat.ExpatError, xml.etree.ElementTree.ParseError)  # of a call, of the version discovery


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """Where and how to log in. ``timeout``: seconds per network operation; ``proxy_host``: HTTP proxy, "" for none;
    ``instance``: UUID of the vCenter that it has to be, "" if any will do."""

    hostname: str
    username: str
    password: str = dataclasses.field(repr=False)
    port: int = 443
    validate_certs: bool = True
    ca_path: str = ""
    timeout: float = 30.0
    proxy_host: str = ""
    proxy_port: int = 0
    instance: str = ""

    @property
    def name(self) -> str:
        return self.hostname if self.port == 443 else place_of(self.hostname, self.port)


def ssl_context(endpoint: Endpoint) -> ssl.SSLContext:
    """Always explicit: without one, pyVmomi stops verifying certificates for loopback names."""
    if not endpoint.validate_certs:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        return ssl.create_default_context(cafile=endpoint.ca_path or None)
    except (OSError, ssl.SSLError) as error:
        raise RefusedError(
            f"cannot read CA certificates from it: {error}",
            host=endpoint.name,
            thing="ca_path",
            value=endpoint.ca_path,
            remedy="give the path of a PEM file on the machine that runs the module",
        ) from error


def uuid_of(row: Mapping[str, Any]) -> str:
    """Of a host or a VM whose property of this kind was read."""
    return str(row.get(HOST_UUID) or row.get(VM_UUID) or "").lower()


# ---------------------------------------------------------------- faults
def fault_text(error: BaseException) -> str:
    """Type, message, further messages and a missing privilege of a vim fault, in one line."""
    parts = [str(getattr(error, "msg", "") or "").strip()]
    parts += [str(m.message) for m in getattr(error, "faultMessage", None) or [] if getattr(m, "message", None)]
    reason = getattr(error, "reason", None)
    if isinstance(reason, str):
        parts.append(reason)
    missing = [getattr(error, "privilegeId", None) or ""]
    for item in getattr(error, "missingPrivileges", None) or []:
        missing += list(item.privilegeIds or [])
    if any(missing):
        parts.append("missing privilege " + ", ".join(sorted({m for m in missing if m})))
    unique = list(dict.fromkeys(part.rstrip(".") for part in parts if part))
    return "{}: {}".format(type_name(error), "; ".join(unique) or "no message")


@contextlib.contextmanager
def translated(host: str, doing: str) -> Iterator[None]:
    """Turn what pyVmomi and the network raise into errors that a person can act on."""

    def unreachable(what: str, remedy: str) -> UnreachableError:
        return UnreachableError(f"{doing}: {what}", host=host, remedy=remedy)

    try:
        yield
    except LayerError:
        raise
    except ssl.SSLCertVerificationError as error:
        raise unreachable(
            f"the certificate does not verify ({error.verify_message or error.reason})",
            "give the CA that signed it in ca_path, use a name that the certificate carries, or (never for production) "
            "set validate_certs to false",
        ) from error
    except BROKEN_LINK as error:
        remedy = "check the address, the port and the network, or raise 'timeout'"
        raise unreachable("{}: {}".format(type_name(error), error or "no answer"), remedy) from error
    except vmodl.MethodFault as error:
        raise _from_fault(error, host, doing) from error
    except NO_SOAP as error:
        remedy = "look what is between here and vCenter (a proxy, a load balancer)"
        raise unreachable(f"the answer is no SOAP ({type_name(error)}: {error})", remedy) from error
    except Exception as error:
        # SmartConnect raises a plain Exception when nothing that speaks VIM answers
        if error.__class__ is not Exception:
            raise
        raise unreachable(str(error), "check that this is a vCenter or an ESXi host") from error


def may_have_arrived(error: LayerError) -> bool:
    """No answer came, or vCenter lost the host in the middle of it. Any other error says that nothing was done."""
    return isinstance(error, UnreachableError) and error.details.get("fault") in (None, "HostCommunication")


@contextlib.contextmanager
def unanswered() -> Iterator[None]:
    """Around a request that changes something: its error says so if it may have been carried out."""
    try:
        yield
    except UnreachableError as error:
        if may_have_arrived(error):
            error.args = (f"{error} Whether it was carried out is not known.",)
        raise


def _from_fault(error: Any, host: str, doing: str) -> LayerError:
    """The first kind that the fault is of; a HostConnectFault is raised by the login."""
    kinds: tuple[tuple[Any, type[LayerError], str], ...] = (
        (
            vim.fault.InvalidLogin,
            CredentialError,
            "check username and password. Repeated attempts lock the account. An ESXi host in lockdown mode refuses "
            "every direct login: go through its vCenter",
        ),
        (vim.fault.NotAuthenticated, SessionLostError, "run again: vCenter ended the session"),
        (
            vim.fault.NoPermission,
            CredentialError,
            "give the account that privilege on the object, or use another account. On an ESXi host in lockdown mode "
            "only vCenter has it: give vCenter as hostname",
        ),
        (vmodl.fault.ManagedObjectNotFound, GoneError, "look whether another client removed it; run again"),
        (
            vim.fault.HostConnectFault,
            UnreachableError,
            "check address, port and network; a vCenter that is just starting answers after some minutes",
        ),
        (
            (vmodl.fault.HostNotConnected, vmodl.fault.HostNotReachable, vmodl.fault.HostCommunication),
            UnreachableError,
            "wait until the host is connected in vCenter, then run again",
        ),
        (object, ApplyError, "read the task and the events of the object in the vSphere client"),
    )
    made, remedy = next((made, remedy) for kind, made, remedy in kinds if isinstance(error, kind))
    text = f"{doing}: {fault_text(error)}"
    return made(text, host=host, fault=type_name(error), remedy=remedy)


class SessionLostError(UnreachableError):
    """vCenter does not know the session any more; a fresh login helps."""

    code = "session_lost"


class GoneError(ApplyError):
    """vCenter does not know the object any more; of a task this says nothing about how it ended."""

    code = "object_gone"


# ---------------------------------------------------------------- esxcli types
_REFLECT = "vmodl.reflect.ManagedMethodExecuter"
_SINCE = "vim.version.version7"  # API 5.0; keeps the plain vim25 namespace on the wire


_REGISTRATION = threading.Lock()


def _executer_type() -> Any:
    with _REGISTRATION:
        return _registered_type()


def _registered_type() -> Any:
    """Register the four types that pyVmomi dropped in release 8; a release that has them again keeps its own."""
    with contextlib.suppress(Exception):
        return VmomiSupport.GetVmodlType(_REFLECT)
    optional = VmomiSupport.F_OPTIONAL
    data: dict[str, list[tuple[str, str, int]]] = {
        "SoapArgument": [("name", "string", 0), ("val", "string", 0)],
        "SoapFault": [("faultMsg", "string", 0), ("faultDetail", "string", optional)],
        "SoapResult": [("response", "string", optional), ("fault", _REFLECT + ".SoapFault", optional)],
    }
    for name, fields in data.items():
        rows = [(field, kind, _SINCE, flags) for field, kind, flags in fields]
        wire = "ReflectManagedMethodExecuter" + name
        VmomiSupport.CreateDataType(f"{_REFLECT}.{name}", wire, "vmodl.DynamicData", _SINCE, rows)
    parameters = (
        *((name, "string", _SINCE, 0, None) for name in ("moid", "version", "method")),
        ("argument", _REFLECT + ".SoapArgument[]", _SINCE, optional, None),
    )
    result = (optional, _REFLECT + ".SoapResult", _REFLECT + ".SoapResult")
    VmomiSupport.CreateManagedType(
        _REFLECT,
        "ReflectManagedMethodExecuter",
        "vmodl.ManagedObject",
        _SINCE,
        None,
        [("executeSoap", "ExecuteSoap", _SINCE, parameters, result, None, None)],
    )
    # another spelling of the returned reference's type is in use; without it the answer cannot be read
    VmomiSupport.CreateManagedType(
        "vmodl.reflect.MethodExecuterAlias", "ManagedMethodExecuter", "vmodl.ManagedObject", _SINCE, None, None
    )
    return VmomiSupport.GetVmodlType(_REFLECT)


class Connection:
    """One login. ``clock`` and ``sleep`` are injected so that waiting can be tested."""

    def __init__(
        self,
        endpoint: Endpoint,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.endpoint = endpoint
        self.clock = clock
        self.sleep = sleep
        self._service: Any = None
        self._content: Any = None
        self._executers: dict[str, Any] = {}
        self._renewal = threading.Lock()
        self.name = endpoint.name
        self.instance = ""  # UUID of this vCenter; of an ESXi host that is asked itself, that of its hardware

    # ------------------------------------------------------------ session
    def open(self) -> Connection:
        context = ssl_context(self.endpoint)
        before = socket.getdefaulttimeout()
        socket.setdefaulttimeout(self.endpoint.timeout)  # version discovery knows no timeout of its own
        try:
            with translated(self.endpoint.name, f"login as {self.endpoint.username}"):
                service = pyvim_connect.SmartConnect(
                    host=self.endpoint.hostname,
                    port=self.endpoint.port,
                    user=self.endpoint.username,
                    pwd=self.endpoint.password,
                    sslContext=context,
                    httpProxyHost=self.endpoint.proxy_host or None,
                    httpProxyPort=self.endpoint.proxy_port or None,
                    httpConnectionTimeout=self.endpoint.timeout,
                )
                service._stub.poolSize = WORKERS  # as many connections stay open as requests run side by side
                self._service, self._content = service, service.RetrieveContent()
        except LayerError as error:
            if not self.instance:  # after the first login only the caller knows what was asked for
                error.args = (f"{error} Nothing was changed.",)
            raise
        finally:
            socket.setdefaulttimeout(before)
        self._executers = {}
        try:
            self._refuse_another()
        except LayerError:
            self.close()  # whatever is asked next logs in anew, and comes here again
            raise
        return self

    def _refuse_another(self) -> None:
        """Ids of hosts and VMs mean nothing on another vCenter, and a restored copy has the very same ones. Every login
        is compared with the one before it, the first with what the caller has read."""
        first, wanted = not self.instance, self.instance or self.endpoint.instance
        found = self._read_instance()
        if wanted in ("", found):
            self.instance = found
            return
        done = "nothing was changed" if first else "what was done before the new login was done on the other one"
        raise RefusedError(
            f"this is vCenter {found}, and the ids were read on vCenter {wanted}; {done}",
            host=self.name,
            thing="vcenter_uuid",
            value=wanted,
            remedy="log in to the vCenter that was read: rocemesh_vcenter_hostname or VMWARE_HOST has to lead to it",
        )

    def close(self) -> None:
        if self._service is None:
            return
        with contextlib.suppress(Exception):  # the session ends by itself; a logout that fails must not hide a result
            self._content.sessionManager.Logout()
        self._service._stub.DropConnections()
        self._service = None

    def reopen(self) -> None:
        """A fresh login: a stub whose session ended cannot be used again."""
        self._service = None
        self.open()

    def once_more(self, call: Callable[[], Any]) -> Any:
        """Make ``call``; if vCenter ended the session, log in again and make it once more.

        A call that was answered with NotAuthenticated was not carried out, so this is safe for writes too. ``call``
        must take whatever it calls from this connection each time (`content`, `reference`).
        """
        used = self._service
        try:
            return call()
        except SessionLostError:
            with self._renewal:  # of many calls side by side, one logs in for all
                if self._service is used:
                    self.reopen()
            return call()

    def __enter__(self) -> Connection:
        return self.open()

    def __exit__(self, *unused: object) -> None:
        self.close()

    @property
    def content(self) -> Any:
        """The service content as read at login: asking for it again would be one more call each time."""
        self._ensure_open()
        return self._content

    def _ensure_open(self) -> None:
        if self._service is None:  # the link was given up for a while
            self.open()

    @property
    def is_vcenter(self) -> bool:
        return bool(self._content.about.apiType == "VirtualCenter")

    @property
    def group_paths(self) -> tuple[str, ...]:
        """The property of a VM with its device groups; none where vCenter or pyVmomi is older than API 8.0.0.1, and the
        path would be refused."""
        self._ensure_open()
        known = VmomiSupport.IsChildVersion(self._service._stub.version, "vim.version.v8_0_0_1")
        return ("config.deviceGroups",) if known else ()

    def _read_instance(self) -> str:
        """Never logs in again: a login asks for it. Raises `ParseError` if there is none, because nothing that is read
        here could be recognized later."""
        found = str(getattr(self._content.about, "instanceUuid", None) or "")
        if not found:
            hosts = self._listed_once([(vim.HostSystem, [HOST_UUID])])
            found = next((uuid_of(row) for _host, row in hosts), "")
        if not found:
            raise ParseError(
                "it has no UUID: neither about.instanceUuid nor, of a standalone host, hardware.systemInfo.uuid",
                host=self.name,
                raw=str(self._content.about.fullName),
            )
        return found.lower()

    def server_time(self) -> Any:
        """The server's own clock, as a datetime with time zone."""

        def asked() -> Any:  # after a new login it is another service
            return self._service.CurrentTime()

        return self.ask(self.name, "reading the clock", asked)

    # ------------------------------------------------------------ reading
    def properties(self, objects: Sequence[Any], paths: Sequence[str], doing: str = "reading") -> list[dict[str, Any]]:
        """Read ``paths`` of all ``objects`` (of one type) in one call; an unset property is absent from the result."""
        if not objects:
            return []
        collector = vmodl.query.PropertyCollector
        spec = collector.FilterSpec(
            objectSet=[collector.ObjectSpec(obj=o) for o in objects],
            propSet=[collector.PropertySpec(type=type(objects[0]), pathSet=list(paths), all=False)],
        )
        by_id = {found._moId: row for found, row in self.ask(self.name, doing, lambda: self._retrieved(spec))}
        return [by_id.get(o._moId, {}) for o in objects]

    def _retrieved(self, spec: Any) -> list[tuple[Any, dict[str, Any]]]:
        manager = self.content.propertyCollector
        answer = manager.RetrievePropertiesEx(specSet=[spec], options=vmodl.query.PropertyCollector.RetrieveOptions())
        rows = list(answer.objects) if answer else []
        while answer and answer.token:
            answer = manager.ContinueRetrievePropertiesEx(token=answer.token)
            rows += list(answer.objects)
        for row in rows:
            for missing in row.missingSet or []:
                # what may not be read must not look like what is not set; a property unknown to this release may
                if isinstance(missing.fault, vim.fault.NoPermission):
                    missing.fault.msg = f"property {missing.path} of {row.obj._moId}"
                    raise missing.fault
        # vSphere writes / \ and % in names as %2f %5c and %25; its client shows them as they were given
        return [(row.obj, {p.name: unquote(p.val) if p.name == "name" else p.val for p in row.propSet}) for row in rows]

    def read(self, obj: Any, paths: Sequence[str], doing: str = "reading") -> dict[str, Any]:
        return self.properties([obj], paths, doing)[0]

    def listed(self, *kinds: tuple[Any, Sequence[str]]) -> list[tuple[Any, dict[str, Any]]]:
        """All objects of these kinds in the whole inventory, each with the named properties: two calls."""
        return list(self.once_more(lambda: self._listed_once(kinds)))

    def _listed_once(self, kinds: Sequence[tuple[Any, Sequence[str]]]) -> list[tuple[Any, dict[str, Any]]]:
        collector = vmodl.query.PropertyCollector
        with translated(self.name, "listing the inventory"):
            # It ends with the session; ending it here would cost a call each time.
            view = self.content.viewManager.CreateContainerView(
                self.content.rootFolder, [kind for kind, _paths in kinds], True
            )
            inside = collector.TraversalSpec(name="inside", type=vim.view.ContainerView, path="view", skip=False)
            return self._retrieved(
                collector.FilterSpec(
                    objectSet=[collector.ObjectSpec(obj=view, skip=True, selectSet=[inside])],
                    propSet=[
                        collector.PropertySpec(type=kind, pathSet=list(paths), all=False) for kind, paths in kinds
                    ],
                )
            )

    def reference(self, kind: str, moid: str) -> Any:
        """A managed object by its id, bound to the present session, without asking whether it exists."""
        kinds = {"host": vim.HostSystem, "vm": vim.VirtualMachine, "task": vim.Task, "datacenter": vim.Datacenter}
        self._ensure_open()
        return kinds[kind](moid, self._service._stub)

    def persistently(self, question: Callable[[], Any], deadline: float) -> Any:
        """Ask until there is an answer or the clock says ``deadline``; a lost session or link means a fresh login.

        ``question`` must only read, and must make its references anew (see `reference`).
        """
        while True:
            try:
                self._ensure_open()
                return question()
            except UnreachableError:
                if self.clock() >= deadline:
                    raise
                self._service = None
                self.sleep(1.0)

    def followed(self, reached: Callable[[], bool], limit: float = PATIENCE) -> bool:
        """After a lost answer: whether ``reached``, which only reads, turns true within ``limit`` seconds, at most
        `PATIENCE`; False also if there is no answer."""
        deadline = self.clock() + min(limit, PATIENCE)
        try:
            while not self.persistently(reached, deadline):
                if self.clock() >= deadline:
                    return False
                self.sleep(1.0)
        except LayerError:
            return False
        return True

    def path(self, obj: Any) -> str:
        """Inventory path from below the root folder ("lab-dc/vm/gpu01")."""
        parts: list[str] = []
        current = obj
        while current is not None:
            row = self.read(current, ["name", "parent"])
            parts.append(str(row.get("name", "?")))
            current = row.get("parent")
        return "/".join(reversed(parts[:-1]))

    def _refused(self, what: str, remedy: str, thing: str, value: str, **more: Any) -> RefusedError:
        what = f"{what}; nothing was changed"
        return RefusedError(what, host=self.name, thing=thing, value=value, remedy=remedy, **more)

    def find_hosts(self, wanted: Sequence[str], cluster: str = "") -> list[tuple[Any, str]]:
        """Return [(HostSystem, its name)] for names or managed object ids, or for all hosts of ``cluster``.

        Two calls, however many hosts there are. Raises `RefusedError` for a name that is unknown, ambiguous or given
        twice, and for a cluster without hosts.
        """
        kinds = [(vim.HostSystem, ["name", "parent"])]
        if cluster:
            kinds.append((vim.ClusterComputeResource, ["name"]))
        everything = self.listed(*kinds)
        hosts = [(o, row) for o, row in everything if isinstance(o, vim.HostSystem)]
        if cluster:
            home = self._one_cluster([(o, row) for o, row in everything if not isinstance(o, vim.HostSystem)], cluster)
            hosts = [(o, row) for o, row in hosts if getattr(row.get("parent"), "_moId", "") == home._moId]
        known = [(o, str(row.get("name", ""))) for o, row in hosts]
        if cluster and not wanted:
            if not known:
                remedy = "name the cluster that the hosts are in, or the hosts themselves"
                raise self._refused("this cluster has no hosts", remedy, "cluster", cluster)
            return sorted(known, key=lambda item: item[1])
        chosen = [self._one_host(known, name, cluster) for name in wanted]
        for position, (host, name) in enumerate(chosen):
            if host._moId in [earlier._moId for earlier, _name in chosen[:position]]:
                what = f"this is {name} ({host._moId}), which is in the list already"
                raise self._refused(what, "name each host once", "ESXi host", wanted[position])
        return chosen

    def _one_host(self, known: Sequence[tuple[Any, str]], name: str, cluster: str) -> tuple[Any, str]:
        found = [(o, n) for o, n in known if name in (n, o._moId)]
        found = found or [(o, n) for o, n in known if n.lower() == name.lower()]
        if len(found) == 1:
            return found[0]
        if found:
            places = ", ".join(f"{self.path(o)} ({o._moId})" for o, _n in found)
            what = f"{len(found)} hosts have that name: {places}"
            raise self._refused(what, "give the managed object id instead", "ESXi host", name)
        where = f"cluster {cluster}" if cluster else "vCenter"
        what = f"{where} has no such host; it knows {short_list([n for _o, n in known])}"
        remedy = "write the name as vCenter shows it, or its managed object id; check that the account may see it"
        raise self._refused(what, remedy, "ESXi host", name)

    def _one_cluster(self, clusters: Sequence[tuple[Any, Mapping[str, Any]]], name: str) -> Any:
        names = [str(row.get("name", "")) for _cluster, row in clusters]
        found = [o for (o, _row), n in zip(clusters, names) if name in (n, o._moId)]
        if len(found) == 1:
            return found[0]
        what = (
            f"{len(found)} clusters have that name" if found else f"no such cluster; vCenter knows {short_list(names)}"
        )
        remedy = "write the name as vCenter shows it, or give the cluster's managed object id"
        raise self._refused(what, remedy, "cluster", name)

    def listed_vms(self) -> list[tuple[Any, dict[str, Any]]]:
        """All VMs, with what `find_vm` looks for."""
        return self.listed((vim.VirtualMachine, ["name", "config.uuid", VM_UUID]))

    def find_vm(
        self, name: str, folder: str = "", uuid: str = "", known: Sequence[tuple[Any, Mapping[str, Any]]] | None = None
    ) -> Any:
        """Return the VirtualMachine for a name or managed object id, made unique by folder path or uuid. ``known``: all
        VMs, where they are listed already."""
        everything = self.listed_vms() if known is None else known
        found = [vm for vm, row in everything if name in (row.get("name"), vm._moId)]
        named = list(found)
        if uuid:
            ids = {vm._moId: {str(row.get("config.uuid")).lower(), uuid_of(row)} for vm, row in everything}
            found = [vm for vm in found if uuid.lower() in ids[vm._moId]]
        if folder:
            tail = folder.strip("/")
            found = [vm for vm in found if ("/" + self.path(vm).rpartition("/")[0]).endswith("/" + tail)]
        if len(found) == 1:
            return found[0]
        places = ", ".join(f"{self.path(vm)} ({vm._moId})" for vm in found or named)
        if found:
            what = f"{len(found)} VMs have that name: {places}"
            remedy = "say which one: 'folder', 'uuid', or the managed object id as 'vm'"
            raise self._refused(what, remedy, "VM", name, candidates=[vm._moId for vm in found])
        if named:
            what = f"a VM of that name exists, but not with folder {folder!r} and uuid {uuid!r}: {places}"
            raise self._refused(what, "correct 'folder' or 'uuid'", "VM", name)
        names = short_list([str(row.get("name", "")) for _vm, row in everything])
        remedy = "write the name as vCenter shows it (case matters), or its managed object id"
        raise self._refused(f"vCenter has no such VM; it knows {names}", remedy, "VM", name)

    # ------------------------------------------------------------ tasks
    def pauses(self, deadline: float, first: float = 0.1, growth: float = 1.5, most: float = 2.0) -> Iterator[None]:
        """For looking again and again: sleeps between the looks, longer each time, and not past ``deadline``. It never
        ends by itself."""
        pause = first
        while True:
            yield
            self.sleep(min(pause, max(deadline - self.clock(), 0.0)))
            pause = min(pause * growth, most)

    def wait(
        self,
        task: Any,
        doing: str,
        host: str,
        timeout: float,
        *,
        cancel: bool = False,
        reached: Callable[[], bool] | None = None,
    ) -> None:
        """Wait until ``task`` succeeded. Raises `ApplyError` with its fault, or when ``timeout`` seconds are over;
        with ``cancel`` the task is then cancelled, so that nothing goes on behind our back.

        A vCenter that restarts forgets its tasks, but the hosts go on with them. ``reached`` then tells from the object
        itself whether what the task was for is there (it must only read); without it a lost task is a `GoneError`.
        """
        deadline = self.clock() + timeout
        moid = task._moId
        for _look in self.pauses(deadline):
            try:
                row = self.persistently(
                    lambda: self.read(self.reference("task", moid), ["info.state", "info.error"], doing), deadline
                )
            except GoneError:
                if reached is None:
                    raise
                self._await_outcome(reached, doing, host, deadline, timeout)
                return
            state = str(row.get("info.state", ""))
            if state == "success":
                return
            if state == "error":
                error = row.get("info.error")
                if error is None:
                    raise ApplyError(doing + ": the task failed without a reason", host=host, task="error")
                fault = getattr(error, "fault", error)
                if not getattr(fault, "msg", None):
                    with contextlib.suppress(Exception):
                        fault.msg = error.localizedMessage
                failure = _from_fault(fault, host, doing)
                failure.details["task"] = "error"  # its own end: any other failure is one to ask about it
                raise failure
            if self.clock() >= deadline:
                said = "; the task was cancelled" if cancel and self._cancel(moid, doing, host) else ""
                raise ApplyError(
                    f"{doing}: not done after {timeout:.0f} s{said}",
                    host=host,
                    remedy="look at the task in the vSphere client, or raise the timeout",
                    fault="Timedout",
                )

    def _await_outcome(
        self, reached: Callable[[], bool], doing: str, host: str, deadline: float, timeout: float
    ) -> None:
        for _look in self.pauses(deadline):
            if self.persistently(reached, deadline):
                return
            if self.clock() >= deadline:
                raise ApplyError(
                    f"{doing}: vCenter lost the task (it was restarted), and {timeout:.0f} s after the start its "
                    "result is not there",
                    host=host,
                    remedy="look at the object in the vSphere client, then run again",
                    fault="ManagedObjectNotFound",
                )

    def _cancel(self, moid: str, doing: str, host: str) -> bool:
        try:
            self.ask(host, f"cancel: {doing}", lambda: self.reference("task", moid).CancelTask())
        except LayerError:
            return False
        return True

    # ------------------------------------------------------------ esxcli
    def run_esxcli(self, host: Any, host_name: str, command: str, values: Mapping[str, str] | None = None) -> Any:
        """Run one command on one host; returns text, a row, or a list of rows (see `esxcli.parse_response`)."""
        doing = esxcli.command_line(command, values or {})
        moid, method = esxcli.address(command)

        def call() -> Any:
            executer = self._executer(host)
            kind = VmomiSupport.GetVmodlType(_REFLECT + ".SoapArgument")
            argument = [kind(name=name, val=text) for name, text in esxcli.arguments(values or {})]
            return executer.ExecuteSoap(moid=moid, version=esxcli.API_VERSION, method=method, argument=argument or None)

        try:
            result = self.ask(host_name, doing, call)
        except GoneError:
            self._executers.pop(host._moId, None)  # that of the boot before
            raise
        if result is None:
            raise ParseError("no answer to " + doing, host=host_name, raw="")
        if result.fault is not None:
            raise ApplyError(
                "{}: {}".format(doing, esxcli.parse_fault(result.fault.faultMsg, result.fault.faultDetail or "")),
                host=host_name,
                remedy="check the command against this ESXi release",
            )
        return esxcli.parse_response(result.response or "", host_name)

    def _executer(self, host: Any) -> Any:
        known, stub = self._executers, self._service._stub  # of one session: another thread may just renew it
        if host._moId not in known:
            kind = _executer_type()
            info = VmomiSupport.Object(
                name="RetrieveManagedMethodExecuter",
                wsdlName="RetrieveManagedMethodExecuter",
                version=_SINCE,
                params=(),
                isTask=False,
                result=kind,
                resultFlags=VmomiSupport.F_OPTIONAL,
                methodResult=kind,
                privId="System.Read",
                faults=[],
                type=vim.HostSystem,
            )
            known[host._moId] = kind(stub.InvokeMethod(host, info, ())._moId, stub)
        return known[host._moId]

    # ------------------------------------------------------------ writing
    def start(self, host: str, doing: str, call: Callable[[], Any]) -> Any:
        """Make one call that changes something, with its faults translated; returns what the call returns (a task).

        ``call`` must make its reference anew (see `reference`): a session that vCenter ended is renewed once.
        """
        with unanswered():
            return self.ask(host, doing, call)

    def ask(self, host: str, doing: str, call: Callable[[], Any]) -> Any:
        """As `start`, for a call that reads."""

        def attempt() -> Any:
            with translated(host, doing):
                return call()

        return self.once_more(attempt)

    def reconfigure(self, vm: Any, extra: Mapping[str, str], fields: Mapping[str, Any], change_version: str) -> Any:
        """Start one atomic change, guarded by ``change_version``: extraConfig ``extra`` (text only, our keys only) and
        explicit ``fields`` of the specification, by name."""
        plain = dict(fields)
        if RESERVATION_FIELD in plain:
            plain["memoryAllocation"] = vim.ResourceAllocationInfo(reservation=int(plain.pop(RESERVATION_FIELD)))
        spec = vim.vm.ConfigSpec(
            changeVersion=change_version or None,
            extraConfig=[vim.option.OptionValue(key=key, value=str(value)) for key, value in extra.items()],
            **plain,
        )
        return vm.ReconfigVM_Task(spec=spec)

    def keys_changed_since(self, vm: Any, since: Any) -> tuple[str, ...] | None:
        """Lower-case extraConfig keys that vCenter's events show as changed after ``since``; None if it cannot say."""
        if since is None or not self.is_vcenter:
            return None
        entity = vim.event.EventFilterSpec.ByEntity(entity=vm, recursion="self")
        spec = vim.event.EventFilterSpec(
            entity=entity, eventTypeId=["VmReconfiguredEvent"], time=vim.event.EventFilterSpec.ByTime(beginTime=since)
        )
        try:
            events = self.ask(
                self.name, "reading the events of the VM", lambda: self.content.eventManager.QueryEvents(filter=spec)
            )
        except (ApplyError, CredentialError):
            return None
        keys = {
            option.key.lower()
            for event in events or []
            if event.createdTime > since and getattr(event, "configSpec", None) is not None
            for option in event.configSpec.extraConfig or []
        }
        return tuple(sorted(keys))

    def enter_maintenance(self, host: Any, timeout: int, vsan_mode: str) -> Any:
        """Start entering maintenance mode. Never evacuates VMs that are off: that would register them elsewhere."""
        spec = None
        if vsan_mode:
            spec = vim.host.MaintenanceSpec(vsanMode=vim.vsan.host.DecommissionMode(objectAction=vsan_mode))
        return host.EnterMaintenanceMode_Task(timeout=timeout, evacuatePoweredOffVms=False, maintenanceSpec=spec)

    def addresses(self) -> tuple[str, str]:
        """Return (vCenter's address, our own address on the way to it), as this machine sees them; "" if unknown."""
        with contextlib.suppress(OSError), socket.create_connection(
            (self.endpoint.hostname, self.endpoint.port), timeout=self.endpoint.timeout
        ) as probe:
            return str(probe.getpeername()[0]), str(probe.getsockname()[0])
        return "", ""


def short_list(names: Sequence[str]) -> str:
    shown = sorted(n for n in names if n)
    if not shown:
        return "none that this account can see"
    return ", ".join(shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "")
