"""The programs in the documents print what is shown."""

import doctest
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[3]


class Replay(doctest.DocTestRunner):
    """Runs programs, and keeps what they printed where that is not what is shown."""

    def __init__(self):
        super().__init__(optionflags=doctest.IGNORE_EXCEPTION_DETAIL, verbose=False)
        self.different = []

    def report_failure(self, out, test, example, got):
        self.different.append((example, got))

    def report_unexpected_exception(self, out, test, example, exc_info):
        raise exc_info[1]


@pytest.mark.parametrize("name", ["README.md", "docs/python.md"])
def test_documented_programs_print_what_is_shown(name):
    """`GOODCALL_BLESS=1` writes what was printed into the documents: read the difference."""
    text = (ROOT / name).read_text()
    blocks = re.findall(r"```pycon\n(.*?)```", text, re.S)
    assert blocks
    needed = re.findall(r">>> import .*?\b(polars|pyarrow)\b", "".join(blocks))
    for module in needed:
        pytest.importorskip(module)
    replay = Replay()
    replay.run(doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, name, 0))
    if os.environ.get("GOODCALL_BLESS"):
        for example, got in replay.different:
            last = example.source.splitlines()[-1]
            text = text.replace(f"{last}\n{example.want}", f"{last}\n{got}", 1)
        (ROOT / name).write_text(text)
    else:
        assert not replay.different, "".join(f"{one.source}shown: {one.want}got: {got}" for one, got in replay.different)


def test_every_adapter_is_documented():
    guide = "".join((ROOT / "docs" / name).read_text() for name in ("python.md", "python-frameworks.md"))
    folder = ROOT / "bindings/python/python/goodcall"
    for path in folder.glob("[a-z]*.py"):
        assert f"goodcall.{path.stem}" in guide, path.stem
