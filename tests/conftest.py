"""Nothing here touches a device; suites that need the running twin ask for the fixture `twin`."""

from __future__ import annotations

import os

import hypothesis
import pytest
import yaml

from tests import kept, site_run

# Hundreds of short playbooks: a module goes to its interpreter's standard input, without a folder and a copy per task.
os.environ.setdefault("ANSIBLE_PIPELINING", "1")
# Every YAML file of the repository is read while tests are collected: libyaml takes a tenth of the time.
yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[assignment,misc]
kept.begin()
# Other programs of this machine may take a processor for a while.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")


@pytest.fixture(scope="session")
def twin() -> None:
    """The running lab. Skipping would hide a dead lab, so this fails."""
    try:
        site_run.state()
    except (RuntimeError, ValueError) as error:
        pytest.fail(f"the lab does not answer; run `make lab-up` first: {error}", pytrace=False)
