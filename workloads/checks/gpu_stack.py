"""What torch of this image was built for, what it sees, and which NCCL it brings. Prints one line of JSON.

A torch for CPUs trains beside idle GPUs without a word; this asks before the training does.
"""

from __future__ import annotations

import contextlib
import json

MARK = "ROCEMESH-STACK "


def look() -> dict[str, object]:
    found: dict[str, object] = dict.fromkeys(("torch", "cuda", "nccl", "why", "error"), "")
    found.update(available=False, gpus=0)
    try:
        import torch  # noqa: PLC0415 (its absence is an answer)
    except Exception as error:  # a library that is missing raises OSError, a broken torch anything
        found["error"] = f"{type(error).__name__}: {error}"
        return found
    found["torch"] = torch.__version__
    found["cuda"] = torch.version.cuda or ""
    if not found["cuda"]:
        return found
    # Built without NCCL, or a release that tells it in another way: then it is not known.
    with contextlib.suppress(AttributeError, RuntimeError, TypeError):
        found["nccl"] = ".".join(str(number) for number in torch.cuda.nccl.version())
    try:
        torch.cuda.init()
        found["available"], found["gpus"] = True, torch.cuda.device_count()
    except (AssertionError, RuntimeError) as error:
        found["why"] = " ".join(str(error).split())[:300]
    return found


if __name__ == "__main__":
    print(MARK + json.dumps(look()), flush=True)
