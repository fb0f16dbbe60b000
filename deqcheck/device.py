"""Where tensors live, and whether they fit."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch

from deqcheck.error import InputError, unknown

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose(name: str) -> str:
    """The device to use; one that cannot compute in float64 is refused, never silently replaced."""
    kind = name.partition(":")[0]
    if kind not in DEVICES:
        raise unknown("device", name, DEVICES)
    if kind == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if kind == "mps":
        raise InputError("device 'mps' cannot compute in float64, which the proofs need; use cpu or cuda.")
    if kind == "cuda":
        if not torch.cuda.is_available():
            raise InputError("device 'cuda' is not available here; use --device cpu or auto.")
        try:
            torch.zeros(1, dtype=torch.float64, device=name)
        except RuntimeError as error:
            raise InputError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}.") from None
    return name


def available_bytes(device: str) -> int:
    """Free memory of the device, as far as it can be known."""
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(device)[0])
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 2**63


def require_memory(needed: int, device: str, what: str) -> None:
    """Refuse at once what would otherwise die half-way."""
    free = available_bytes(device)
    if needed > free:
        raise InputError(
            f"{what} need about {needed / 2**30:.1f} GiB, but {free / 2**30:.1f} GiB are free on "
            f"{device}; take fewer samples or a smaller width."
        )


def description(device: str) -> dict[str, str | int | bool]:
    """What the numbers depend on besides the inputs."""
    facts: dict[str, str | int | bool] = {
        "device": device,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "float32_matmul": torch.get_float32_matmul_precision(),
    }
    if device.startswith("cuda"):
        facts["gpu"] = torch.cuda.get_device_name(device)
        facts["tf32"] = torch.backends.cuda.matmul.allow_tf32
    return facts
