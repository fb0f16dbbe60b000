"""Checkpoints: tensors as safetensors, the rest as JSON, written so that a kill at any moment leaves a whole one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from deqcheck.error import InputError

INDEX = "trajectory.json"
VERSION = 1


def fingerprint(tensors: tuple[Tensor, ...], *facts: object) -> str:
    """What a checkpoint must agree with: the start, the data and the rule of the run, bit for bit."""
    digest = hashlib.sha256(repr(facts).encode())
    for tensor in tensors:
        digest.update(repr(tuple(tensor.shape)).encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def require(folder: Path) -> None:
    """Refuse a folder without a checkpoint."""
    if not (folder / INDEX).is_file():
        raise InputError(
            f"there is no checkpoint to resume in {folder}; give the folder that the interrupted run saved to."
        )


def require_free(folder: Path) -> None:
    """Refuse to overwrite another run, and a folder that cannot be one."""
    if (folder / INDEX).exists():
        raise InputError(
            f"{folder} already holds a checkpoint; continue it with --resume {folder}, or save to another folder."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the checkpoint {folder} cannot be written: {error.strerror or error}.") from None


def write(folder: Path, step: int, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """The tensors under a name of their own first, then the index that names them; then the old ones go."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"step-{step:09d}.safetensors"
        content = save({key: value.detach().cpu().contiguous() for key, value in tensors.items()})
        _replace(folder / name, content)
        index = {
            "version": VERSION,
            "step": step,
            "tensors": name,
            "sha256": hashlib.sha256(content).hexdigest(),
            **facts,
        }
        _replace(folder / INDEX, json.dumps(index, ensure_ascii=False, allow_nan=False).encode())
        for old in folder.glob("step-*.safetensors"):
            if old.name != name:
                old.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"the checkpoint {folder} cannot be written: {error.strerror or error}.") from None


def _replace(path: Path, content: bytes) -> None:
    """All of the file or nothing of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def read(folder: Path, wanted: str, device: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The index and the tensors; a checkpoint of another run or a damaged one is refused."""
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        if not isinstance(index, dict) or index.get("version") != VERSION:
            raise InputError(f"{folder / INDEX} is not a checkpoint of this version of deqcheck; start the run anew.")
        content = (folder / str(index["tensors"])).read_bytes()
    except OSError as error:
        raise InputError(
            f"there is no checkpoint to resume in {folder}: {error.strerror or error}; give the folder that "
            "the interrupted run saved to."
        ) from None
    except (ValueError, KeyError):
        raise InputError(f"the checkpoint {folder / INDEX} is damaged; start the run anew.") from None
    if hashlib.sha256(content).hexdigest() != index["sha256"]:
        raise InputError(f"the checkpoint {folder / str(index['tensors'])} is damaged; start the run anew.")
    if index.get("fingerprint") != wanted:
        raise InputError(
            f"the checkpoint in {folder} belongs to another run (other theorem, weights, data, step size or steps to "
            "certify); resume with the settings that it was started with."
        )
    try:
        tensors = load(content)
    except SafetensorError as error:
        raise InputError(f"the checkpoint {folder / str(index['tensors'])} cannot be read: {error}.") from None
    # Copies: a view into the file may be aligned differently, and then products round differently.
    return index, {name: tensor.clone().to(device) for name, tensor in tensors.items()}
