"""Action of rocemesh.multinode.site_outcomes: outcomes of hosts, folded per layer."""

from __future__ import annotations

from typing import Any

from ..module_utils._site.layers import fold
from ..modules.site_outcomes import DOCUMENTATION
from ..plugin_utils.decision import Decision


class ActionModule(Decision):
    documentation = DOCUMENTATION

    def decide(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        groups, hosts = variables["groups"], variables["hostvars"]
        folded = {}
        for layer, source in options["layers"].items():
            if not isinstance(source, (list, tuple)) or len(source) != 2:
                raise ValueError(f"layers: {layer} is {source!r}; give the inventory group and the name of the fact")
            group, fact = source
            folded[layer] = fold({host: hosts[host][fact] for host in groups.get(group, ()) if hosts[host].get(fact)})
        return {"layers": folded}
