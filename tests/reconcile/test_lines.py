"""Where keys stand in a TOML text."""

from __future__ import annotations

import pytest

from headgate.schedule_file.lines import Lines

TEXT = '''# a = 1
a = 1
[t]  # a table
"quoted" = [
  [1, 2],
  ["x]", '[y'],  # [[
  [3]
]
b.c = {d = 1}
[[s]]
  id = "#not a comment"
text = """
id2 = 1
[[s]]
"""
after = 1
[s.p]
deep = 1
[ s . 'p' . q ]
[[s]]
id = \'\'\'
x = 1 """
\'\'\'
last = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("t",), 3),
        (("t", "quoted"), 4),
        (("t", "b"), 9),
        (("t", "b", "c"), 9),
        (("s", 0), 10),
        (("s", 0, "id"), 11),
        (("s", 0, "id2"), 10),
        (("s", 0, "after"), 16),
        (("s", 0, "p"), 17),
        (("s", 0, "p", "deep"), 18),
        (("s", 0, "p", "q"), 19),
        (("s", 1), 20),
        (("s", 1, "id"), 21),
        (("s", 1, "x"), 20),
        (("s", 1, "last"), 24),
        (("nowhere", "at", "all"), 1),
    ],
)
def test_a_key_is_where_it_stands_or_its_table(path: tuple[str | int, ...], line: int) -> None:
    assert Lines(TEXT).of(*path) == line


def test_every_text_has_a_first_line() -> None:
    assert Lines("").of("a") == 1
