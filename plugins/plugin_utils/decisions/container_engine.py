# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Say how the Docker engine gets NVIDIA's runtime, and why it has to be restarted.

Takes the runtime `nvidia` from what `nvidia-ctk runtime configure --dry-run` would write, and nothing else of it.
Every key of the file stays as it is and where it is. An entry of that name is never replaced. Compares what the
running engine knows with what is on the disk. It needs no memory of an earlier run.
``config``: The present `daemon.json`, empty where there is none. With `offer`, `merged` is returned.
``offer``: Standard output of `nvidia-ctk`.
``probe``: What the engine answers, one word and its value per line - `started` (when the engine started, epoch),
`hook` (when the toolkit's hook was installed, epoch), `configured` (its configuration has the runtime), `runtimes`
(JSON), `live_restore`, and one `container` per running container. With it `state` is returned.
"""

from __future__ import annotations

from typing import Any

from ...module_utils._mesh.engine import engine_state, merge_runtime
from ..decision import Context

SPEC: dict[str, Any] = {"config": {"default": ""}, "offer": {}, "probe": {}}


def decide(options: dict[str, Any], context: Context) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if options["offer"] is not None:
        found["merged"] = merge_runtime(options["config"], options["offer"])
    if options["probe"] is not None:
        found["state"] = engine_state(options["probe"], "configured" in options["probe"].splitlines())
    return found
