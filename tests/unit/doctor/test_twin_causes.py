"""Two causes of one meaning: written twice, they are both certain of the same line."""

from __future__ import annotations

import pathlib

from ansible_collections.rocemesh.multinode.plugins.module_utils._doctor.doctor import diagnose
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.packs.loader import CAUSES, load
from ansible_collections.rocemesh.multinode.plugins.module_utils._judge.packs.model import CANDIDATE


def test_a_sample_is_certain_of_one_cause_at_most(tmp_path: pathlib.Path) -> None:
    output, asked, twins = tmp_path / "output.txt", 0, {}
    for pack, _name, sign in load().signs():
        for sample in (sign.get("samples") or ()) if pack.kind == CAUSES else ():
            output.write_text(f"{sample}\n")
            findings = diagnose(str(output))["findings"]
            certain = {finding["cause"] for finding in findings if finding["certainty"] != CANDIDATE}
            twins.update({sample: certain} if len(certain) > 1 else {})
            asked += 1
    assert asked > 2000
    assert twins == {}
