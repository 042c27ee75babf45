"""The comparison with other people's ResNet-50: the same settings for all, honest medians, nothing missing silently."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from types import ModuleType

import pytest

from tests.system_torch import TORCH_PYTHON as PYTHON
from tests.system_torch import has

SCRIPT = pathlib.Path(__file__).parents[3] / "workloads" / "resnet50" / "compare" / "compare.py"


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    spec = importlib.util.spec_from_file_location("compare", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


def test_every_variant_gets_the_same_batch_size_steps_and_precision(compare: ModuleType) -> None:
    words = ["--batch_size", "7", "--image_size", "96", "--steps", "13", "--warmup", "11", "--precision", "bf16"]
    options = compare.parse_arguments([*words, "--threads", "3"])
    for variant in compare.VARIANTS:
        argv = compare.command(variant, options)
        after = dict(zip(argv, argv[1:]))
        ours = variant.startswith("ours")
        assert (after["--batch_size"], after["--image_size"], after["--precision"]) == ("7", "96", "bf16")
        assert after["--threads"] == "3"
        assert after["--num_batches" if ours else "--steps"] == "13"
        assert after["--num_warmup_batches" if ours else "--warmup"] == "11"
        assert ("--compile" in argv) is (variant == "ours-compiled")
        assert ("--cuda_graph" in argv) is (variant == "ours-graph")


def test_the_figure_is_the_median_and_the_ratio_is_ours_by_theirs(compare: ModuleType) -> None:
    def rounds(*speeds: float) -> list[dict[str, float]]:
        return [{"img_s": speed, "warmup_s": 1.0} for speed in speeds]

    found = compare.summary(
        {"ours": rounds(100, 900, 110), "torchvision": rounds(55, 55, 1), "timm": rounds(220, 220, 220), "x": []}
    )
    assert found["variants"]["ours"]["img_s"] == 110
    assert found["ratios"] == {"ours / torchvision": 2.0, "ours / timm": 0.5}


@pytest.mark.parametrize("text", ["", "nothing\n", "ROCEMESH {}\nROCEMESH {}\n"])
def test_a_measurement_without_one_result_is_none(compare: ModuleType, text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        compare.read("ours", text)


@pytest.mark.parametrize("option", ["--batch_size", "--steps", "--rounds"])
def test_wrong_options_are_told_without_torch(option: str) -> None:
    done = subprocess.run([sys.executable, SCRIPT, option, "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "at least 1" in done.stderr


@pytest.mark.skipif(
    not has(PYTHON, "torch", "torchvision"),
    reason=f"no torch and torchvision in {PYTHON}; name another with ROCEMESH_TORCH_PYTHON",
)
def test_ours_and_torchvision_are_measured_and_what_is_missing_is_named(tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [
            *(PYTHON, str(SCRIPT), "--batch_size", "2", "--image_size", "64", "--steps", "1", "--warmup", "1"),
            *("--rounds", "1", "--precision", "fp32", "--threads", "1", "--json", str(tmp_path / "all.json")),
            *("--variants", "ours", "ours-graph", "torchvision"),
        ],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "all.json").read_text())
    assert found == json.loads(done.stdout)
    assert set(found["variants"]) == {"ours", "torchvision"}
    assert found["left_out"] == {"ours-graph": "no GPU"}
    assert found["ratios"]["ours / torchvision"] > 0
