"""Tests of pages do not vanish where somebody counts on them."""

import pytest

from chromium import need_browser


@pytest.mark.parametrize("asked_by", [{"CI": "true"}, {"GYMSOLVE_TEST_BROWSER": "required"}])
def test_where_a_browser_is_counted_on_its_absence_is_a_failure_that_says_what_to_do(
    asked_by, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, value in asked_by.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(pytest.fail.Exception, match="install it"):
        need_browser()


def test_elsewhere_its_absence_is_a_skip_that_says_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("CI", "GYMSOLVE_TEST_BROWSER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(pytest.skip.Exception, match="install it"):
        need_browser()
