# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports and transceivers in the words of ethtool, mlxlink, switches and people. Pure data."""

from __future__ import annotations

from ..model import CANDIDATE, rule, sign

SIGNS = (
    # Kernel: Documentation/networking/ethtool-netlink, link extended states; mlxlink and NVUE use the same words.
    sign(
        "medium_bad",
        r"\b(?:Cable issue|EEPROM issue|Bad signal integrity|Calibration failure|Power budget exceeded"
        r"|Cable(?:/transceiver)? is (?:unplugged|not supported)|Unsupported (?:cable|rate)|signal (?:is )?not detected"
        r"|High BER|Module (?:has )?over ?heat\w*|Overheat)\b(?!\s*[:|]\s*0)",
    ),
    sign(
        "peer_disagrees",
        r"\b(?:No partner detected|Link training failure|Link (?:logical )?mismatch|Negotiation failure"
        r"|Autoneg(?:otiation)? (?:failure|no partner)|(?:Peer is sending )?remote faults?|local fault|FEC mismatch"
        r"|(?:speed|FEC|lane|breakout|autoneg\w*) (?:does not|doesn't|do not) match)\b(?!\s*[:|]\s*0)",
    ),
    sign(
        "no_light",
        r"\bno link (?:detected|light|lights|is up|on)\b|\blinks? (?:does not|doesn't|never|won't|did not|didn't"
        r"|fails? to)"
        r" (?:come|get|go|train)|\b(?:port|link|interface)\b.{0,40}\b(?:stays?|remains?|keeps?) down\b"
        r"|transceiver (?:is )?(?:installed|present|inserted).{0,60}\b(?:no link|down|not up)\b|no link LED",
    ),
    sign(
        "rate_lower",
        r"\b(?:re-?)?negotiat\w+\b.{0,40}\b(?:lower|below|down to|slower|half)\b"
        r"|\b(?:Rate|Speed)\b.{0,12}\d+ ?[MG]b?\S*.{0,30}\b(?:instead of|should be|expected)\b.{0,8}\d+",
    ),
    # ethtool -m, show interfaces transceiver details: an alarm that is on.
    sign(
        "optics_alarm",
        r"(?:power|temperature|voltage|bias current)\b.{0,20}\b(?:alarm|warning)\s*:\s*On\b|\b(?:Rx"
        r"|Tx)[ _-]?LOS\b\s*[:=]\s*"
        r"(?:1|On|Yes|True|0x[1-9a-f])|\bLoss of signal\b\s*[:=]\s*(?:1|On|Yes|True)|-(?:40(?:\.0+)?|inf) ?dBm"
        r"|transmit fault indicated|failed to read EEPROM|module .{0,40}(?:removed|not responding|slow to respond)",
    ),
    # Forward error correction that did not suffice: ethtool -S of several drivers, mlxlink.
    sign(
        "fec_lost",
        r"(?:fec|codewords?|rs_\w+|phy)\w*[ _]\w*uncorrect\w*\s*[:=]?\s*[1-9]\d{2,}"
        r"|uncorrect\w*[ _](?:fec|codewords?|blocks|cw)\w*\s*[:=]?\s*[1-9]\d{2,}",
    ),
)

RULES = (
    rule(
        "medium_bad",
        "medium_bad|optics_alarm|fec_lost|rate_lower",
        CANDIDATE,
        "link_faulty switch_port_off",
        "kernel: ethtool link extended states; SFF-8636 and CMIS alarms; IEEE 802.3: uncorrected codewords are "
        "lost frames",
    ),
    rule(
        "no_light",
        "no_light|peer_disagrees",
        CANDIDATE,
        "link_faulty switch_port_off nic_firmware_setting",
        "IEEE 802.3: without light or agreement on speed and FEC a link does not come up",
    ),
)
