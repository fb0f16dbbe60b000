"""Numbers as people read them. Only digits that the enclosure guarantees are shown."""

from __future__ import annotations

import math
from decimal import Context

from deqcheck.enclosure import Enclosure


def short(x: float, digits: int = 4) -> str:
    """A float with a few significant digits: 0.0342, 5.819e5, 3.487e-16."""
    if not math.isfinite(x):
        return "∞" if x > 0 else ("−∞" if x < 0 else "?")
    if x == 0:
        return "0"
    if 1e-3 <= abs(x) < 1e5:
        plain = f"{x:.{digits}g}"
        return f"{x:.0f}" if "e" in plain else plain
    mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}"


def decimal(text: str, digits: int = 4) -> str:
    """A decimal string (possibly far outside the float range) with a few significant digits."""
    value = float(text)
    if value != 0 and math.isfinite(value):
        return short(value, digits)
    if text in ("0", "inf", "-inf"):
        return {"0": "0", "inf": "∞", "-inf": "−∞"}[text]
    mantissa, _, exponent = text.partition("e")
    rounded = Context(prec=digits).create_decimal(mantissa)
    shift = rounded.adjusted()
    return f"{rounded.scaleb(-shift).normalize():f}e{int(exponent or 0) + shift}"


def enclosed(x: Enclosure, digits: int = 4) -> str:
    """One number where the ends agree to the digits shown, else both ends."""
    lo, hi = (decimal(end, digits) for end in x.decimals(digits + 3))
    return lo if lo == hi or x.relative_width() < 10.0 ** (1 - digits) else f"[{lo}, {hi}]"


def certain(x: Enclosure) -> str:
    """The relative width, as a power of ten: to how many places the number is known."""
    width = x.relative_width()
    if width == 0:
        return "exact"
    return short(width, 1) if math.isfinite(width) else "unknown"


def decades(margin: float | None) -> str:
    """A margin with its sign."""
    if margin is None:
        return "–"
    if abs(margin) < 0.005:
        return f"{'+' if margin >= 0 else '−'}{short(abs(margin), 1)}"
    return f"{'+' if margin >= 0 else '−'}{abs(margin):.2f}"


def listed(items: list[str]) -> str:
    """a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
