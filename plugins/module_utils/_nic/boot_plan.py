"""The next boot of a guest, from its files: all that sets up interfaces, in the order in which the boot runs it.

Pure: no I/O. Imports on Python 3.8: runs on the nodes.
"""

from __future__ import annotations

from . import boot_commands, boot_networkd, boot_profiles
from .boot_state import NextBoot, Present, Tree
from .interface_state import last, sections


def next_boot(tree: Tree, present: Present) -> NextBoot:
    boot = NextBoot()
    links = present.interfaces
    boot_networkd.apply_rules(tree, links, boot, late=False)
    boot_networkd.apply_links(tree, links, boot, present.command_line)
    boot_networkd.apply_rules(tree, links, boot, late=True)
    ifupdown = tree.is_enabled("networking.service")
    manager = tree.is_enabled("NetworkManager.service")
    networkd = boot_networkd.is_starting(tree)
    if ifupdown:
        boot_commands.apply(tree, boot)
    if manager:
        boot_profiles.apply(tree, links, boot, _left_to_ifupdown(tree))
    if networkd:
        boot_networkd.apply(tree, links, boot, present.command_line)
    boot_commands.apply_units(tree, boot)
    boot_commands.apply_drivers(tree, links, boot)
    boot.managed = ifupdown or manager or networkd
    return boot


def _left_to_ifupdown(tree: Tree) -> frozenset[str]:
    """What NetworkManager's plugin of Debian leaves alone: all that ifupdown's files name."""
    parts = sections(tree.files.get("/etc/NetworkManager/NetworkManager.conf", ""))
    if "ifupdown" not in last(parts, "main", "plugins") or last(parts, "ifupdown", "managed") == "true":
        return frozenset()
    try:
        return frozenset(one.interface for one in boot_commands.parse(tree).stanzas)
    except boot_commands.Refused:
        return frozenset()
