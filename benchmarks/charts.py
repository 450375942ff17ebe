"""Charts as SVG text: no library, readable on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, LABELS, VALUES = 760, 210, 90
TOP, ROW, BAR, FOOT = 58, 26, 16, 30
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 15px; }
  .small { font-size: 12px; fill: #59636e; }
  .ours { fill: #0969da; } .peer { fill: #8c959f; } .loses { fill: #d1d9e0; }
  .grid { stroke: #d1d9e0; } .range { stroke: #8c959f; stroke-width: 2; }
  .range.ours { stroke: #0969da; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .small { fill: #9198a1; }
    .ours { fill: #4493f8; } .peer { fill: #7d8590; } .loses { fill: #3d444d; }
    .grid { stroke: #3d444d; } .range { stroke: #7d8590; } .range.ours { stroke: #4493f8; }
  }
"""


@dataclass(frozen=True)
class Mark:
    """One line of a chart."""

    label: str
    value: float
    kind: str = "peer"
    """`ours`, `peer`, or `loses` for a peer that loses jobs."""
    until: float | None = None
    """The end of a range that starts at the value."""


def bars(title: str, subtitle: str, marks: Sequence[Mark], unit: str) -> str:
    """Bars from zero, the longest first."""
    ordered = sorted(marks, key=lambda mark: -mark.value)
    room = WIDTH - LABELS - VALUES
    most = max(mark.value for mark in ordered)
    lines: list[str] = []
    for number, mark in enumerate(ordered):
        top = TOP + number * ROW
        length = max(1.0, room * mark.value / most)
        lines += [
            _label(mark, top),
            f'<rect class="{mark.kind}" x="{LABELS}" y="{top}" width="{length:.1f}" height="{BAR}" rx="2"/>',
            f'<text x="{LABELS + length + 6:.1f}" y="{top + 13}">{shown(mark.value)} {escape(unit)}</text>',
        ]
    return _page(title, subtitle, lines, len(ordered))


def ranges(title: str, subtitle: str, marks: Sequence[Mark], unit: str) -> str:
    """Dots with a line to the end of their range, on a scale of powers of ten, the least first."""
    ordered = sorted(marks, key=lambda mark: mark.value)
    values = [v for mark in ordered for v in (mark.value, mark.until) if v]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    high = max(high, low + 1)
    room = WIDTH - LABELS - VALUES

    def at(value: float) -> float:
        return LABELS + room * (log10(value) - low) / (high - low)

    bottom = TOP + len(ordered) * ROW
    lines: list[str] = []
    for power in range(low, high + 1):
        x = at(10.0**power)
        lines.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}"/>')
        lines.append(
            f'<text class="small" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{10.0**power:g} {escape(unit)}</text>'
        )
    for number, mark in enumerate(ordered):
        top, middle = TOP + number * ROW, TOP + number * ROW + BAR / 2
        end = at(mark.until or mark.value)
        lines += [
            _label(mark, top),
            f'<line class="range {mark.kind}" x1="{at(mark.value):.1f}" y1="{middle}" x2="{end:.1f}" y2="{middle}"/>',
            f'<circle class="{mark.kind}" cx="{at(mark.value):.1f}" cy="{middle}" r="6"/>',
            f'<text x="{end + 10:.1f}" y="{top + 13}">{_span(mark)}</text>',
        ]
    return _page(title, subtitle, lines, len(ordered))


def _span(mark: Mark) -> str:
    return (
        shown(mark.value) if mark.until is None else f"{shown(mark.value)} to {shown(mark.until)}"
    )


def shown(value: float) -> str:
    """A number with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _label(mark: Mark, top: float) -> str:
    weight = ' font-weight="600"' if mark.kind == "ours" else ""
    return f'<text x="{LABELS - 10}" y="{top + 13}" text-anchor="end"{weight}>{escape(mark.label)}</text>'


def _page(title: str, subtitle: str, lines: Sequence[str], rows: int) -> str:
    height = TOP + rows * ROW + FOOT
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}" width="{WIDTH}" height="{height}">\n'
        f"<style>{STYLE}</style>\n"
        f'<text class="title" x="10" y="22">{escape(title)}</text>\n'
        f'<text class="small" x="10" y="41">{escape(subtitle)}</text>\n'
        f"{body}\n</svg>\n"
    )
