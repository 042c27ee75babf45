"""All hosts of a site at once: the lease of their datacenters, and whose maintenance mode they are in."""

from __future__ import annotations

from typing import Any, Sequence

from .._layer import LayerError
from .lease import LeaseWanted, SiteLease, datacenter_of, release_quietly
from .ownership import MARK_FIELD, Mark, stays_text
from .records import STANDALONE, CustomFields, HostRecords
from .transport import Connection


class Windows:
    def __init__(self, connection: Connection, wanted: LeaseWanted, names: Sequence[str]) -> None:
        self._connection = connection
        self._wanted = wanted
        self._names = list(names)
        self._found = connection.find_hosts(names)
        self.warnings: list[str] = []

    # ------------------------------------------------------------ lease
    def settle(self, state: str, check_mode: bool) -> bool:
        """Bring the leases into ``state`` (free, held, released or ignored); returns whether one was taken or given
        back now."""
        if state == "ignored" or not self._connection.is_vcenter:
            return False
        hosts = [host for host, _name in self._found]
        above = {
            row["parent"]._moId: row["parent"]
            for row in self._connection.properties(hosts, ["parent"], "looking for the datacenters of the hosts")
        }
        places = dict(datacenter_of(self._connection, parent) for parent in above.values())
        leases = [SiteLease(self._connection, self._wanted, moid, name) for moid, name in sorted(places.items())]
        if state == "released":
            return False if check_mode else True in [lease.release() for lease in leases]
        for lease in leases:
            lease.refuse_beside_others()
        if state == "free" or check_mode:
            return False
        user = HostRecords(self._connection, "", "").user()
        taken: list[SiteLease] = []
        for lease in leases:
            try:
                if lease.take(user):
                    taken.append(lease)
            except LayerError:  # all or none
                for other_lease in taken:
                    release_quietly(other_lease)
                raise
        return bool(taken)

    # ------------------------------------------------------------ hosts
    def hosts(self) -> list[dict[str, Any]]:
        paths = ("runtime.connectionState", "runtime.bootTime", "runtime.inMaintenanceMode", "customValue")
        key = CustomFields(self._connection).definitions().get(MARK_FIELD) if self._connection.is_vcenter else None
        rows = self._connection.properties([host for host, _name in self._found], paths, "reading the hosts")
        return [
            self._host(given, (host._moId, name), row, CustomFields.value(row.get("customValue"), key))
            for given, (host, name), row in zip(self._names, self._found, rows)
        ]

    def _host(self, given: str, host: tuple[str, str], row: dict[str, Any], text: str) -> dict[str, Any]:
        moid, name = host
        boot = row.get("runtime.bootTime")
        in_maintenance = bool(row.get("runtime.inMaintenanceMode", False))
        records = HostRecords(self._connection, moid, name) if self._connection.is_vcenter else None
        mark: Mark | None = records.parsed(text) if records is not None else None
        story, doubt = "", ""
        if in_maintenance:
            story, doubt = STANDALONE if records is None else (records.story(), records.doubt(mark))
        if doubt:
            self.warnings.append(stays_text(name, moid, story, doubt))
        return {
            "given": given,
            "esxi_host": name,
            "esxi_host_moid": moid,
            "vcenter_uuid": self._connection.instance,
            "connection_state": str(row.get("runtime.connectionState", "unknown")),
            "boot_time": None if boot is None else boot.isoformat(),
            "in_maintenance": in_maintenance,
            "marked": mark is not None,
            "recoverable": in_maintenance and not doubt,
            "story": story,
        }
