"""Charts are well-formed, complete and true to scale."""

import xml.etree.ElementTree as ET

import pytest
from benchmarks.charts import Mark, bars, ranges, shown

SVG = "{http://www.w3.org/2000/svg}"
MARKS = [
    Mark("slow & <odd>", 100, "loses"),
    Mark("ours", 400, "ours"),
    Mark("peer", 200),
]


def texts(svg):
    return ["".join(each.itertext()) for each in ET.fromstring(svg).iter(f"{SVG}text")]


def test_bars_are_in_proportion_and_the_longest_comes_first():
    chart = bars("Title", "under it", MARKS, "/s")
    widths = [float(each.get("width")) for each in ET.fromstring(chart).iter(f"{SVG}rect")]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.2)
    assert widths[0] == pytest.approx(4 * widths[2], abs=0.2)


def test_every_label_and_value_is_there():
    found = texts(bars("A & B", "under it", MARKS, "/s"))
    assert {"A & B", "under it", "slow & <odd>", "ours", "peer", "400 /s", "100 /s"} <= set(found)


def test_a_chart_follows_the_page_from_light_to_dark():
    assert "prefers-color-scheme: dark" in bars("T", "", MARKS, "/s")


def test_a_power_of_ten_takes_the_same_room_everywhere():
    marks = [Mark("a", 1, until=10), Mark("b", 10, until=100), Mark("c", 100, until=1_000)]
    root = ET.fromstring(ranges("T", "", marks, "ms"))
    spans = [
        float(line.get("x2")) - float(line.get("x1"))
        for line in root.iter(f"{SVG}line")
        if "range" in line.get("class")
    ]
    assert len(spans) == 3
    assert spans[0] == pytest.approx(spans[1], abs=0.2)
    assert spans[1] == pytest.approx(spans[2], abs=0.2)


def test_a_range_may_be_a_single_point():
    assert len(texts(ranges("T", "", [Mark("a", 1.0)], "ms"))) >= 3


@pytest.mark.parametrize(
    ("value", "text"), [(12_345.6, "12,346"), (100, "100"), (4.567, "4.57"), (0.1234, "0.123")]
)
def test_numbers_keep_three_digits(value, text):
    assert shown(value) == text
