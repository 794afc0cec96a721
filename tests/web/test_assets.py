"""What a browser loads of a page, how often, and in which order."""

import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from gymsolve.web.assets import Assets
from gymsolve.web.pages import PAGES
from gymsolve.web.routes import ROUTES
from tests.web.conftest import Served
from tests.web.test_guard import STATIC, ask

KEPT = Path(__file__).parents[1] / "runs" / "known_good" / "cartpole"
RUN, OTHER = "20260101-000000-CartPole-v1-ppo-aaaa", "20260101-000001-CartPole-v1-ppo-bbbb"


@pytest.fixture(scope="module", autouse=True)
def runs(server: Served) -> None:
    for name in (RUN, OTHER):
        shutil.copytree(KEPT, server.runs_dir / name)


def test_a_file_is_kept_for_good_under_the_newest_stamp_alone(server: Served) -> None:
    stamp = Assets().stamp()
    for name in ("style.css", "vendor/lit-html.js", "icon.svg"):
        content = (STATIC / name).read_bytes()
        found = {place: ask(server, f"/static/{place}{name}") for place in ("", f"{stamp}/", "0123456789ab/")}
        assert {place: body == content for place, (_, _, body) in found.items()} == dict.fromkeys(found, True)
        kept = {place for place, (_, headers, _) in found.items() if "immutable" in headers["cache-control"]}
        assert kept == {f"{stamp}/"}


@pytest.mark.parametrize(
    "name", ["nothing.js", "style.css/", "vendor", "../server.py", "a/b/style.css", "vendor/README.md"]
)
def test_only_what_browsers_load_is_given(server: Served, name: str) -> None:
    assert ask(server, f"/static/{name}")[0] == 404
    assert ask(server, f"/static/{Assets().stamp()}/{name}")[0] == 404


def test_the_stamp_changes_with_any_file(tmp_path: Path) -> None:
    shutil.copytree(STATIC, tmp_path / "static")
    assets = Assets(tmp_path / "static")
    before = assets.stamp()
    assert assets.stamp() == before
    (tmp_path / "static" / "inspect" / "views.css").write_text("p { color: red }")
    assert assets.stamp() != before


@pytest.mark.parametrize(("address", "module"), [(path, module) for path, (module, _) in PAGES.items()])
def test_a_page_names_all_that_it_loads_and_asks_for_nothing_twice(
    server: Served, page: Page, address: str, module: str
) -> None:
    """Otherwise modules come one after another, and data only after the last of them."""
    path = address.format(run=RUN) + (f"?runs={RUN},{OTHER}" if module == "compare" else "")
    page.goto(server.address(path))
    page.goto("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server.origin}{path}")
    page.locator("h1").first.wait_for()
    page.wait_for_load_state("networkidle")
    scripts = [urlsplit(one).path for one in asked if one.endswith(".js")]
    named = re.findall(r'(?:src|href)="([^"]+\.js)"', ask(server, path)[2].decode())
    assert set(scripts) <= set(named), "a module that the page does not name"
    assert len(scripts) == len(set(scripts))
    data = [urlsplit(one).path for one in asked if "/api/" in one and "since=" not in one]
    assert len(data) == len(set(data)), "asked twice: the page's words are not the module's"


def addresses(block: str) -> set[str]:
    """The addresses of a table in `addresses.js`, with `{}` for what is filled in, without queries."""
    text = (STATIC / "addresses.js").read_text()
    shared = dict(re.findall(r"^const (\w+) = \(.*more = ''\) => `(.*)\$\{more\}`;$", text, re.MULTILINE))
    table = re.search(rf"export const {block} = \{{\n(.*?)\n\}};", text, re.DOTALL)
    assert table is not None
    known = set()
    for name, made in re.findall(r"^  (\w+): \(.*?\) => (.*),$", table[1], re.MULTILINE):
        call = re.fullmatch(r"(\w+)\([\w, ]+?(?:, [`'](.*)[`'])?\)", made)
        path = made.strip("`'") if call is None else shared[call[1]] + (call[2] or "")
        path = re.sub(r"\$\{part\(\w+\)\}(\.mp4|\.jpg)?", "{}", path.replace("${asked(query)}", ""))
        known.add(path.partition("?")[0])
        assert "$" not in path.partition("?")[0], name
    return known


def test_pages_ask_for_the_addresses_that_the_server_has() -> None:
    assert addresses("api") == {"/api" + re.sub(r"\{\w+\}", "{}", route.path) for route in ROUTES}
    assert addresses("pages") == {re.sub(r"\{\w+\}", "{}", path) for path in PAGES}
    own = [
        path for path in STATIC.rglob("*.js") if "vendor" not in path.parts and path.name != "addresses.js"
    ]
    for path in own:
        literal = re.search(r"""[`'"]/(api|ws|runs?|compare|play|inspect)\b""", path.read_text())
        assert literal is None, f"{path.name} has an address of its own: {literal[0]}"


def test_every_address_has_a_handler() -> None:
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)
    assert all(callable(route.load()) for route in ROUTES)
