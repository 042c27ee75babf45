"""Quality of service beside the RoCE template: what people typed by hand, and where it contradicts the template.

The lines are those that public configurations of SN2410 and SN2700 switches have. What of them the switch lists as an
exception is known in principle only: settings that were there when ``roce`` was typed stay, and win.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Set

if TYPE_CHECKING:
    from .state import Switch

ROCE_PRIORITY = 3
TRUSTS = ("L2", "L3", "both", "port")
PFC_MODES = ("on", "auto", "off")
_ADMIN = {"on": "On", "auto": "Auto", "off": "Off"}


def pfc_on(switch: Switch) -> bool:
    typed = switch.running.qos.get("pfc")
    return switch.running.roce == "lossless" if typed is None else typed == "enable"


def pfc_priorities(switch: Switch) -> List[int]:
    """Priorities with PFC: the template's, those that were typed, without those that were taken away."""
    enabled: Set[int] = {ROCE_PRIORITY} if switch.running.roce == "lossless" else set()
    for key, word in switch.running.qos.items():
        if key.startswith("pfc priority "):
            number = int(key.rsplit(" ", 1)[1])
            (enabled.add if word == "enable" else enabled.discard)(number)
    return sorted(enabled)


def trust(switch: Switch, name: str) -> str:
    return switch.running.ports[name].qos.get("trust", "L3" if switch.running.roce else "L2")


def pfc_admin(switch: Switch, name: str) -> str:
    typed = switch.running.ports[name].qos.get("pfc")
    return _ADMIN[typed] if typed else "On" if switch.running.roce == "lossless" else "Auto"


def pfc_operational(switch: Switch, name: str) -> bool:
    """PFC works where a link is up, and in mode auto only with a peer that says so by DCBX, over LLDP."""
    if not pfc_on(switch) or not pfc_priorities(switch) or switch.faults.get("pfc_off", port=name):
        return False
    admin = pfc_admin(switch, name)
    agreed = admin == "On" or (admin == "Auto" and switch.neighbor(name) is not None)
    return agreed and switch.link_up(name)


def ecn(switch: Switch, name: str) -> Dict[int, Dict[str, str]]:
    """Traffic class -> thresholds in KB, as typed or by the template; a class without has no ECN."""
    found = {ROCE_PRIORITY: {"min": "150", "max": "1500"}} if switch.running.roce else {}
    for key, text in switch.running.ports[name].qos.items():
        if key.startswith("ecn "):
            number = int(key.split()[1])
            if text == "off":
                found.pop(number, None)
            else:
                low, high = text.split()
                found[number] = {"min": low, "max": high}
    return found


def exceptions(switch: Switch) -> List[str]:
    """Rows of the exception list of ``show roce``; nobody has published one, so their wording is synthetic."""
    rows = [str(fault["text"]) for fault in switch.faults.all("exception")]
    if switch.running.roce is None:
        return []
    lossless = switch.running.roce == "lossless"
    if lossless and (not pfc_on(switch) or ROCE_PRIORITY not in pfc_priorities(switch)):
        rows.append("PFC is off for switch-priority {0}".format(ROCE_PRIORITY))
    rows += ["PFC is on for switch-priority {0}".format(n) for n in pfc_priorities(switch) if n != ROCE_PRIORITY]
    for key, text in switch.running.qos.items():
        if key.startswith("pool ") and key.endswith(" map") and str(ROCE_PRIORITY) in text.split():
            rows.append("traffic pool {0} has switch-priority {1}".format(key.split()[1], ROCE_PRIORITY))
    for name in switch.running.ports:
        if trust(switch, name) not in ("L3", "both"):
            rows.append("Eth{0} trusts {1}".format(name, trust(switch, name)))
        if lossless and pfc_admin(switch, name) == "Off":
            rows.append("Eth{0} has PFC off".format(name))
        if ecn(switch, name).get(ROCE_PRIORITY) != {"min": "150", "max": "1500"}:
            rows.append("Eth{0} has another congestion-control in traffic-class {1}".format(name, ROCE_PRIORITY))
    return ["{0} (synthetic wording)".format(row) for row in rows]


def running_lines(qos: Dict[str, str]) -> List[str]:
    """Global lines of the running configuration, as public configurations have them."""
    lines = []
    for key, text in qos.items():
        words = key.split()
        if key == "pfc":
            lines.append(
                "dcb priority-flow-control enable force"
                if text == "enable"
                else "no dcb priority-flow-control enable force"
            )
        elif words[0] == "pfc":
            lead = "" if text == "enable" else "no "
            lines.append("{0}dcb priority-flow-control priority {1} enable".format(lead, words[2]))
        elif words[2] == "map":
            lines += ["traffic pool {0} map switch-priority {1}".format(words[1], each) for each in text.split()]
        else:
            lines.append("traffic pool {0} {1} {2}".format(words[1], words[2], text))
    return lines


def port_lines(qos: Dict[str, str]) -> List[str]:
    """What stands behind ``interface ethernet P`` in the running configuration."""
    lines = []
    for key, text in qos.items():
        if key == "trust":
            lines.append("qos trust {0}".format(text))
        elif key == "pfc":
            lines.append("dcb priority-flow-control mode {0} force".format(text))
        elif key.startswith("ets "):
            lines.append("traffic-class {0} dcb ets strict".format(key.split()[1]))
        elif text == "off":
            lines.append("no traffic-class {0} congestion-control".format(key.split()[1]))
        else:
            low, high = text.split()
            lines.append(
                "traffic-class {0} congestion-control ecn minimum-absolute {1} maximum-absolute {2}".format(
                    key.split()[1], low, high
                )
            )
    return lines
