"""Small plots as inline SVG. Colours come from the page's style sheet; shapes and words carry them too.

Every plot is 480 units wide, so that its letters stay readable when a phone scales it down, and has
a title and a description for those who do not see it. Positions are floats; they prove nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from markupsafe import Markup

from deqcheck.report.number import decades, short

WIDTH = 480.0
LEFT, RIGHT = 64.0, 14.0
ROW = 27.0
MOST_POINTS = 300
"""More points than this cannot be told apart at this size."""

MARK = {"HOLDS": "✓", "FAILS": "✗", "UNDECIDED": "?"}
SUPERSCRIPT = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")

Scale = Callable[[float], float]
Tick = tuple[float, str]


@dataclass(frozen=True)
class Margin:
    """One bar: decades by which a line holds or fails; None where a side is not positive."""

    label: str
    verdict: str
    decades: float | None


@dataclass(frozen=True)
class Sides:
    """Both sides of an inequality as (lo, hi) decimal strings of any size."""

    label: str
    verdict: str
    lhs: tuple[str, str]
    rhs: tuple[str, str]


@dataclass(frozen=True)
class Curve:
    """Values of any size over positions; a dashed curve is a bound."""

    name: str
    xs: Sequence[float]
    ys: Sequence[str | float]
    dashed: bool = False


@dataclass(frozen=True)
class Tried:
    """One value of a search with its worst margin."""

    value: float
    verdict: str
    margin: float | None
    refused: bool


# --- numbers to positions ------------------------------------------------------------------------------


def log10(number: str | float) -> float:
    """log10 of a decimal string far outside the float range; -inf for what is not positive."""
    if isinstance(number, float) and not math.isfinite(number):
        return number if number > 0 else -math.inf
    value = Decimal(number)
    if value.is_nan() or value <= 0:
        return -math.inf
    if value.is_infinite():
        return math.inf
    digits = "".join(map(str, value.as_tuple().digits)).lstrip("0")
    return value.adjusted() + math.log10(float(f"{digits[0]}.{digits[1:20] or 0}"))


def power(exponent: float) -> str:
    """10 to a whole exponent as people write it."""
    plain = {0: "1", 1: "10"}
    whole = round(exponent)
    return plain.get(whole) or f"10{str(whole).translate(SUPERSCRIPT)}"


def linear_ticks(lo: float, hi: float, most: int = 6) -> list[Tick]:
    """Round numbers 1, 2, 5 times a power of ten."""
    if not hi > lo:
        return [(lo, short(lo, 3))]
    raw = (hi - lo) / most
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next((unit * k for k in (1, 2, 5) if unit * k >= raw * 0.999), unit * 10)
    first, last = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9)
    return [(k * step, short(round(k * step, 12), 3).replace("-", "−")) for k in range(first, last + 1)]


def log_ticks(lo: float, hi: float, most: int = 6) -> list[Tick]:
    """Ticks between two exponents: powers of ten, or 1-2-5 or round numbers where the span is short."""
    if hi - lo >= 2:
        step = next(s for s in _steps() if (hi - lo) / s <= most)
        first, last = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9)
        return [(k * step, power(k * step)) for k in range(first, last + 1)]
    if hi > 300 or lo < -300:
        return [(lo, power(lo)), (hi, power(hi))]
    if hi - lo >= 0.7:
        decades_ = range(math.floor(lo), math.ceil(hi) + 1)
        marks = [(e + math.log10(k), short(k * 10.0**e, 2)) for e in decades_ for k in (1, 2, 5)]
        return [m for m in marks if lo - 1e-9 <= m[0] <= hi + 1e-9]
    values = linear_ticks(10.0**lo, 10.0**hi, 4)
    return [(math.log10(v), text) for v, text in values if v > 0]


def _steps() -> Iterable[int]:
    scale = 1
    while True:
        yield from (scale, 2 * scale, 5 * scale)
        scale *= 10


LINEAR_PART = 0.1
"""Up to a tenth of a decade the symlog axis is nearly linear."""


def symlog(x: float) -> float:
    """Linear near zero and logarithmic far from it, with the sign kept."""
    return math.copysign(math.log10(1 + abs(x) / LINEAR_PART), x)


def margin_axis(values: Sequence[float]) -> tuple[Scale, list[Tick], bool]:
    """Linear, unless the largest margin would hide margins that are not small."""
    sizes = [abs(v) for v in values if abs(v) >= 0.01]
    top = max(sizes, default=0.0)
    low, high = min([0.0, *values]), max([0.0, *values])
    if top <= 30 * min(sizes, default=top) and top <= 200:
        pad = 0.04 * (high - low) or 1.0
        return (lambda x: x), linear_ticks(low - pad, high + pad, 5), False
    exponents = range(-1, math.floor(math.log10(top)) + 1)
    stride = max(1, math.ceil(len(exponents) / (3 if low < 0 < high else 5)))
    sizes = [10.0**e for e in exponents if (e - exponents[-1]) % stride == 0]
    ticks = [(0.0, "0")]
    ticks += [(symlog(s), f"+{short(s)}") for s in sizes if s <= high * 1.05]
    ticks += [(symlog(-s), f"−{short(s)}") for s in sizes if s <= -low * 1.05]
    return symlog, ticks, True


def thinned(n: int) -> list[int]:
    """At most MOST_POINTS indices, the first and the last among them."""
    if n <= MOST_POINTS:
        return list(range(n))
    stride = math.ceil((n - 1) / (MOST_POINTS - 1))
    return [*range(0, n - 1, stride), n - 1]


def _onto(lo: float, hi: float, start: float, end: float) -> Scale:
    span = hi - lo
    return lambda x: start + (end - start) * ((x - lo) / span if span > 0 else 0.5)


# --- elements ------------------------------------------------------------------------------------------


def _n(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(kind, *map(_n, (x1, y1, x2, y2)))


def _text(x: float, y: float, words: str, kind: str = "tick", anchor: str = "middle") -> Markup:
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(kind, _n(x), _n(y), anchor, words)


def _path(d: str, kind: str) -> Markup:
    return Markup('<path class="{}" d="{}"/>').format(kind, d)


def _circle(x: float, y: float, r: float, kind: str) -> Markup:
    return Markup('<circle class="{}" cx="{}" cy="{}" r="{}"/>').format(kind, *map(_n, (x, y, r)))


def _marker(x: float, y: float, verdict: str, r: float = 4.5) -> Markup:
    """A dot for what holds, a cross for what fails, an open diamond for what is undecided."""
    if verdict == "HOLDS":
        return _circle(x, y, r, "dot holds")
    if verdict == "FAILS":
        a, b, c, d = (_n(v) for v in (x - r, x + r, y - r, y + r))
        return _path(f"M{a} {c}L{b} {d}M{a} {d}L{b} {c}", "cross fails")
    return _diamond(x, y, r + 1, "open undecided")


def _diamond(x: float, y: float, r: float, kind: str) -> Markup:
    ends = (f"{_n(a)} {_n(b)}" for a, b in ((x, y - r), (x + r, y), (x, y + r), (x - r, y)))
    return _path(f"M{'L'.join(ends)}Z", kind)


def _figure(ident: str, title: str, description: str, height: float, parts: Iterable[Markup]) -> Markup:
    head = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 480 {h}" width="480" height="{h}"'
        ' role="img" aria-labelledby="{i}-t {i}-d"><title id="{i}-t">{t}</title><desc id="{i}-d">{d}</desc>'
    ).format(h=_n(height), i=ident, t=title, d=description)
    return head + Markup("").join(parts) + Markup("</svg>")


def _label(words: str, most: int = 14) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _gutter(labels: Iterable[str]) -> float:
    """Room on the left for the widest label."""
    return min(120.0, max([40.0, *(8.0 * len(_label(text)) + 14 for text in labels)]))


# --- plots ---------------------------------------------------------------------------------------------


def margins(ident: str, rows: Sequence[Margin]) -> Markup:
    """Bars from a zero line: to the right what holds, to the left what fails."""
    known = [row.decades for row in rows if row.decades is not None]
    scale, ticks, compressed = margin_axis(known)
    at = [scale(v) for v in [0.0, *known]] + [t for t, _ in ticks]
    gutter = _gutter(row.label for row in rows)
    x = _onto(min(at), max(at) if max(at) > min(at) else min(at) + 1, gutter + 10, WIDTH - 92)
    top, bottom = 10.0, 10.0 + ROW * len(rows)
    parts = [_line(x(t), top, x(t), bottom, "grid") for t, _ in ticks]
    said = []
    for k, row in enumerate(rows):
        y = top + ROW * (k + 0.5)
        kind = row.verdict.lower()
        end = x(scale(row.decades)) if row.decades is not None else x(scale(0.0))
        group = [Markup("<g><title>{}: {}</title>").format(row.label, _said(row))]
        if row.decades is not None:
            start = min(x(0.0), end)
            group.append(
                Markup('<rect class="bar {}" x="{}" y="{}" width="{}" height="12" rx="1"/>').format(
                    kind, _n(start), _n(y - 6), _n(abs(end - x(0.0)))
                )
            )
        group.append(_marker(end, y, row.verdict))
        group.append(_text(gutter - 4, y + 4.5, _label(row.label), "label", "end"))
        value = f"{MARK.get(row.verdict, '')} {_tidy(decades(row.decades))}"
        group.append(_text(WIDTH - 6, y + 4.5, value, f"value {kind}", "end"))
        parts += [*group, Markup("</g>")]
        said.append(f"{row.label} {_said(row)}")
    parts.append(_line(x(0.0), top - 4, x(0.0), bottom + 4, "zero"))
    parts += [_text(x(t), bottom + 18, text) for t, text in _apart(ticks, x, 34)]
    axis = "margin in decades" + (", compressed far from zero" if compressed else "")
    parts.append(_text((gutter + WIDTH - 82) / 2, bottom + 36, axis, "axis"))
    return _figure(ident, "Margin of each checked line in decades", "; ".join(said) + ".", bottom + 44, parts)


def _said(row: Margin) -> str:
    verb = {"HOLDS": "holds", "FAILS": "fails"}.get(row.verdict, "is undecided")
    if row.decades is None:
        return f"{verb}, without a margin in decades because one side is not positive"
    return f"{verb}, margin {decades(row.decades)} decades"


def _tidy(text: str) -> str:
    """1e-4 as 10⁻⁴ and 2.5e7 as 2.5·10⁷: the plot has no room for more."""
    mantissa, e, exponent = text.partition("e")
    if not e or not exponent.lstrip("-").isdigit():
        return text
    sign, digits = (mantissa[0], mantissa[1:]) if mantissa[:1] in "+−-" else ("", mantissa)
    return f"{sign}{'' if digits == '1' else digits + '·'}10{exponent.translate(SUPERSCRIPT)}"


def _apart(ticks: Sequence[Tick], x: Scale, gap: float) -> list[Tick]:
    """Leave out labels that would touch; zero stays."""
    kept: list[Tick] = [t for t in ticks if t[1] == "0"]
    for tick in sorted(ticks, key=lambda t: -abs(t[0])):
        if all(abs(x(tick[0]) - x(other[0])) >= gap for other in kept):
            kept.append(tick)
    return kept


def sides(ident: str, rows: Sequence[Sides]) -> Markup:
    """Both sides of each inequality with their enclosures, on one logarithmic axis."""
    ends = [log10(end) for row in rows for pair in (row.lhs, row.rhs) for end in pair]
    finite = [e for e in ends if math.isfinite(e)] or [0.0]
    lo, hi = min(finite), max(finite)
    pad = max(0.04 * (hi - lo), 0.02)
    lo, hi = lo - pad, hi + pad
    gutter = _gutter(row.label for row in rows)
    edge_lo, edge_hi = gutter + 12, WIDTH - 18
    zeros = any(e == -math.inf for e in ends)
    inner = _onto(lo, hi, edge_lo + (26 if zeros else 6), edge_hi - (22 if math.inf in ends else 6))

    def x(e: float) -> float:
        return inner(e) if math.isfinite(e) else (edge_lo if e < 0 else edge_hi)

    top = 32.0
    bottom = top + ROW * len(rows)
    ticks = log_ticks(lo, hi)
    parts = [
        _circle(gutter + 18, 13, 4.5, "dot ink"),
        _text(gutter + 28, 17.5, "left side", "label", "start"),
        _diamond(gutter + 110, 13, 6, "open ink"),
        _text(gutter + 121, 17.5, "right side", "label", "start"),
        *(_line(x(t), top, x(t), bottom, "grid") for t, _ in ticks),
    ]
    said = []
    for k, row in enumerate(rows):
        y = top + ROW * (k + 0.5)
        kind = row.verdict.lower()
        (a, b), (c, d) = ((x(log10(lo_)), x(log10(hi_))) for lo_, hi_ in (row.lhs, row.rhs))
        words = f"{row.label}: left side {_span(row.lhs)}, right side {_span(row.rhs)}"
        said.append(words)
        parts.append(Markup("<g><title>{}</title>").format(words))
        parts.append(_text(gutter - 4, y + 4.5, _label(row.label), "label", "end"))
        parts.append(_line((a + b) / 2, y, (c + d) / 2, y, f"join {kind}"))
        parts += [_line(p, y, q, y, f"range {kind}") for p, q in ((a, b), (c, d)) if q - p >= 1]
        parts.append(_diamond((c + d) / 2, y, 6, f"open {kind}"))
        parts.append(_circle((a + b) / 2, y, 4.5, f"dot {kind}"))
        parts.append(Markup("</g>"))
    if zeros:
        parts.append(_line(edge_lo + 13, top, edge_lo + 13, bottom, "cut"))
        parts.append(_text(edge_lo, bottom + 18, "≤ 0"))
    if math.inf in ends:
        parts.append(_text(edge_hi, bottom + 18, "∞"))
    parts += [_text(x(t), bottom + 18, text) for t, text in _apart(ticks, x, 38) if not zeros or x(t) > edge_lo + 24]
    parts.append(_text((edge_lo + edge_hi) / 2, bottom + 36, "value, logarithmic", "axis"))
    return _figure(ident, "Left and right side of each checked inequality", "; ".join(said) + ".", bottom + 44, parts)


def _span(pair: tuple[str, str]) -> str:
    lo, hi = (_brief(end) for end in pair)
    return lo if lo == hi else f"between {lo} and {hi}"


def _brief(text: str) -> str:
    """Three digits of a decimal string."""
    value = Decimal(text)
    if not value.is_finite() or value == 0:
        return {"inf": "infinity", "-inf": "minus infinity"}.get(text, "0")
    e = value.adjusted()
    if -300 < e < 300:
        return short(float(value), 3)
    digits = "".join(map(str, value.as_tuple().digits))
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:3] or 0}e{e}"


def curves(ident: str, title: str, series: Sequence[Curve], x_name: str, y_name: str, *, log_x: bool = False) -> Markup:
    """Curves over a logarithmic axis; values that are zero are marked at its foot."""
    forward: Scale = (lambda v: math.log10(1 + v)) if log_x else (lambda v: v)
    dots = [
        (curve, [(forward(float(curve.xs[i])), log10(curve.ys[i])) for i in thinned(len(curve.ys))]) for curve in series
    ]
    xs = [p[0] for _, points in dots for p in points]
    finite = [p[1] for _, points in dots for p in points if math.isfinite(p[1])] or [0.0]
    low, high = min(finite), max(finite)
    pad = max(0.06 * (high - low), 0.02)
    y_ticks = log_ticks(low - pad, high + pad, 5)
    legend = 24.0 if len(series) > 1 else 0.0
    top, bottom = 10.0 + legend, 190.0 + legend
    x = _onto(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    y = _onto(low - pad, high + pad, bottom, top)
    parts = [_line(LEFT, y(t), WIDTH - RIGHT, y(t), "grid") for t, _ in y_ticks]
    parts += [_text(LEFT - 8, y(t) + 4, _tidy(text), "tick", "end") for t, text in _apart(y_ticks, y, 15)]
    parts.append(_line(LEFT, bottom, WIDTH - RIGHT, bottom, "zero"))
    said, start = [], LEFT
    for curve, points in dots:
        kind = "curve dashed" if curve.dashed else "curve"
        shown = [(x(a), y(b)) for a, b in points if math.isfinite(b)]
        if len(shown) > 1:
            parts.append(_path("M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in shown), kind))
        if len(shown) <= 40 and not curve.dashed:
            parts += [_circle(a, b, 2.4, "dot ink") for a, b in shown]
        foot = [x(a) for a, b in points if b == -math.inf]
        parts += [_path(f"M{_n(a - 4)} {_n(bottom - 7)}h8l-4 6z", "dot ink") for a in foot]
        if legend:
            parts.append(_line(start, 13, start + 28, 13, kind))
            parts.append(_text(start + 36, 17.5, curve.name, "label", "start"))
            start += 60 + 7.2 * len(curve.name)
        said.append(_course(curve))
    if log_x:
        top_power = math.ceil(max(xs)) + 1
        marks = [(0.0, "0"), *((math.log10(1 + 10.0**e), power(e)) for e in range(top_power))]
        x_ticks = [m for m in marks if min(xs) - 1e-9 <= m[0] <= max(xs) + 1e-9]
    else:
        x_ticks = [t for t in linear_ticks(min(xs), max(xs), 6) if t[0] == round(t[0])]
    parts += [_text(x(t), bottom + 18, text) for t, text in _apart(x_ticks, x, 34)]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, bottom + 36, x_name, "axis"))
    parts.append(
        Markup('<text class="axis" transform="translate(13 {}) rotate(-90)" text-anchor="middle">{}</text>').format(
            _n((top + bottom) / 2), y_name
        )
    )
    return _figure(ident, title, " ".join(said), bottom + 44, parts)


def _course(curve: Curve) -> str:
    def brief(y: str | float) -> str:
        return _brief(y) if isinstance(y, str) else short(float(y), 3)

    zeros = sum(log10(y) == -math.inf for y in curve.ys)
    foot = f" {zeros} of them are zero, marked at the foot of the axis." if zeros else ""
    count = len(curve.ys)
    return f"{curve.name}: {count} values, from {brief(curve.ys[0])} to {brief(curve.ys[-1])}.{foot}"


def search(ident: str, vary: str, tried: Sequence[Tried], holds: tuple[float, float] | None) -> Markup:
    """The worst margin against the value varied; the band is where every hypothesis holds."""
    values = [t.value for t in tried]
    positive = min(values) > 0 and max(values) / min(values) >= 30
    forward: Scale = math.log10 if positive else (lambda v: v)
    known = [t.margin for t in tried if t.margin is not None]
    scale, y_ticks, compressed = margin_axis(known)
    lows = [scale(v) for v in [0.0, *known]]
    low, high = min(lows), max(lows)
    pad = 0.08 * (high - low) or 1.0
    top, bottom = 34.0, 264.0
    x = _onto(forward(min(values)), forward(max(values)), LEFT + 8, WIDTH - RIGHT - 8)
    y = _onto(low - pad, high + pad, bottom, top)
    parts: list[Markup] = []
    if holds is not None:
        a, b = (x(forward(v)) for v in holds)
        parts.append(
            Markup('<rect class="band" x="{}" y="{}" width="{}" height="{}"/>').format(
                _n(a - 3), _n(top), _n(b - a + 6), _n(bottom - top)
            )
        )
    inside = [t for t in y_ticks if low - pad <= t[0] <= high + pad]
    parts += [_line(LEFT, y(t), WIDTH - RIGHT, y(t), "grid") for t, _ in inside]
    parts += [_text(LEFT - 8, y(t) + 4, _tidy(text), "tick", "end") for t, text in _apart(inside, y, 15)]
    parts.append(_line(LEFT, y(0.0), WIDTH - RIGHT, y(0.0), "zero"))
    ordered = sorted(tried, key=lambda t: t.value)
    path = [(x(forward(t.value)), y(scale(t.margin))) for t in ordered if t.margin is not None]
    if len(path) > 1:
        parts.append(_path("M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in path), "join quiet"))
    for t in ordered:
        at = y(scale(t.margin)) if t.margin is not None else bottom - 6
        parts.append(_marker(x(forward(t.value)), at, "UNDECIDED" if t.refused else t.verdict, 4.0))
    start = LEFT
    for verdict, word in (("HOLDS", "holds"), ("FAILS", "fails"), ("UNDECIDED", "undecided or refused")):
        parts.append(_marker(start + 6, 13, verdict, 4.0))
        parts.append(_text(start + 16, 17.5, word, "label", "start"))
        start += 44 + 7.2 * len(word)
    bounds = forward(min(values)), forward(max(values))
    x_ticks = log_ticks(*bounds) if positive else linear_ticks(*bounds)
    parts += [_text(x(t), bottom + 18, _tidy(text)) for t, text in _apart(x_ticks, x, 40)]
    name = f"{_label(vary, 30)}{', logarithmic' if positive else ''}"
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, bottom + 36, name, "axis"))
    y_name = "worst margin in decades" + (", compressed" if compressed else "")
    parts.append(
        Markup('<text class="axis" transform="translate(13 {}) rotate(-90)" text-anchor="middle">{}</text>').format(
            _n((top + bottom) / 2), y_name
        )
    )
    where = f"every hypothesis holds between {short(holds[0])} and {short(holds[1])}" if holds else "none holds"
    words = f"{len(tried)} values of {vary} from {short(min(values))} to {short(max(values))}; {where}."
    return _figure(ident, f"Worst margin against {vary}", words, bottom + 44, parts)
