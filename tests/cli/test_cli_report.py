"""Reports and comparisons from the command line; and the page in a real browser."""

from pathlib import Path

import pytest
from PIL import Image

from chromium import browse

LIGHT, DARK = (0xFB, 0xFB, 0xFA), (0x14, 0x17, 0x1A)
"""The colours of the page in both schemes."""
BLUE, DARK_BLUE = (0x1F, 0x6F, 0xB2), (0x5A, 0xA9, 0xE6)
"""The first line of a chart."""


def test_every_training_leaves_a_report(cli, place, trained):
    folder = place / "runs" / trained
    text = (folder / "report.md").read_text()
    assert "is not solved" in text
    assert "the budget was spent" in text
    assert "<svg" in (folder / "report.html").read_text()
    assert not [line for line in (folder / "events.jsonl").read_text().splitlines() if "no report" in line]


@pytest.mark.videos
def test_the_report_embeds_the_video_that_was_made_before_it(cli, place):
    answer = cli("train", "CartPole-v1", "--steps", "300", "--set", "video.max_seconds=1", "--json", "-q")
    page = (Path(answer.json["path"]) / "report.html").read_text()
    assert 'src="videos/best.mp4"' in page


def test_a_report_is_written_again_on_request(cli, place, trained):
    page = place / "runs" / trained / "report.html"
    page.unlink()
    told = cli("report", "@last", "--json").json
    assert Path(told["html"]) == page
    assert page.is_file()
    assert {"solved", "verdict", "quality", "alerts", "mean_reward"} <= told.keys()
    assert told["verdict"] in cli("report", trained[:20]).out
    assert cli("report", "nothing-like-it").code == 2


def test_a_report_needs_neither_torch_nor_gymnasium(shell, trained):
    code = (
        "import sys\n"
        "from gymsolve.cli import main\n"
        f"assert main(['report', '{trained}']) == 0\n"
        "heavy = {'torch', 'gymnasium', 'matplotlib', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    answer = shell(code=code)
    assert answer.code == 0, answer.err


def test_runs_are_compared_on_an_axis_and_as_a_page(cli, place, trained):
    cli("train", "Bandit-v0", "--steps", "256", "--seed", "9", "-q")
    told = cli("runs", "compare", trained, "@last", "--x", "time", "--html", "both.html", "--json").json
    assert told["x"] == "time"
    assert [run["letter"] for run in told["runs"]] == ["A", "B"]
    assert "seconds of training" in told["charts"]["Evaluations"]
    assert "Runs compared" in (place / "both.html").read_text()
    shown = cli("runs", "compare", trained, "@last", "--html", "no/such/folder.html")
    assert shown.code != 0
    assert "no such file or folder" in shown.err
    assert cli("runs", "compare", trained, "@last", "--x", "moons").code == 2


def test_the_page_looks_right_in_a_browser(browser, place, trained):
    page = place / "runs" / trained / "report.html"
    light = _colours(browser, page, place / "light.png")
    dark = _colours(browser, page, place / "dark.png", "--blink-settings=preferredColorScheme=0")
    assert light[LIGHT] > 100_000
    assert dark[DARK] > 100_000
    assert LIGHT not in dark
    assert light[BLUE] > 100
    assert dark[DARK_BLUE] > 100


def test_the_page_fits_a_telephone(browser, place, trained):
    frame = place / "runs" / trained / "frame.html"
    measure = "document.title = this.contentDocument.documentElement.scrollWidth"
    frame.write_text(
        f'<iframe src="report.html" style="width: 400px; border: 0" onload="{measure}"></iframe>'
    )
    dom = browse(browser, frame, "--allow-file-access-from-files", "--hide-scrollbars", "--dump-dom")
    assert "<title>400</title>" in dom


def _colours(browser: str, page: Path, picture: Path, *flags: str) -> dict[tuple[int, ...], int]:
    """How many pixels there are of each colour."""
    browse(browser, page, f"--screenshot={picture}", "--window-size=1200,2400", "--hide-scrollbars", *flags)
    with Image.open(picture) as image:
        found = image.convert("RGB").getcolors(maxcolors=1 << 24)
    assert found is not None
    return {colour: count for count, colour in found}
