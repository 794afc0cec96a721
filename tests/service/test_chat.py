"""Questions to chat servers: a stand-in on this machine answers in both formats, badly, slowly, too much."""

import json

import pytest

from chat_server import ANSWER, standing_in
from gymsolve.apps.review.chat import ADDRESS, KEY, MODEL, Endpoint, ask, find_endpoint
from gymsolve.errors import GymsolveError, UsageError

PNG = b"\x89PNG not a real one"


@pytest.fixture(name="server")
def _server():
    with standing_in() as found:
        yield found


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1", ""])
def test_a_question_goes_out_in_the_format_of_the_address_and_its_answer_comes_back(path, server):
    address, heard = server
    environ = {ADDRESS: address + path, MODEL: "m", KEY: "k-secret", "ANTHROPIC_API_KEY": "for another host"}
    endpoint = find_endpoint(environ=environ)
    reply = ask(endpoint, "why?", [PNG])
    assert (reply.text, reply.model, reply.tokens) == (ANSWER, "m", 7)
    (asked,) = heard
    assert asked["path"] == ("/v1/messages" if "messages" in path else "/v1/chat/completions")
    assert asked["body"]["model"] == "m"
    (turn,) = asked["body"]["messages"]
    assert turn["content"][0] == {"type": "text", "text": "why?"}
    assert "iVBORyBub3QgYSByZWFsIG9uZQ==" in json.dumps(turn["content"][1])
    secrets = [value for name, value in asked["headers"].items() if "k-secret" in value]
    assert secrets == ["k-secret" if "messages" in path else "Bearer k-secret"]
    assert "another host" not in json.dumps(asked)
    assert "k-secret" not in repr(endpoint)


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("refused", "status 401: bad key … here now"),
        ("moved", "status 302"),
        ("huge", "more than 1,000,000 bytes"),
        ("page", "not JSON"),
        ("odd", "a form that is not its own"),
        ("strange", "a form that is not its own"),
        ("silent", "without any text"),
        ("slow", "did not answer within 0.3 seconds"),
        ("drip", "did not answer within 0.3 seconds"),
    ],
)
def test_what_goes_wrong_is_one_sentence(case, told, server):
    address, heard = server
    endpoint = Endpoint(f"{address}/{case}/v1/chat/completions", "m", "openai", "k-secret", patience=0.3)
    with pytest.raises(GymsolveError) as caught:
        ask(endpoint, "why?")
    assert told in str(caught.value)
    assert "k-secret" not in str(caught.value)
    assert len(heard) == 1  # no redirect was followed, and nothing asked twice


def test_halves_of_characters_in_an_answer_are_replaced(server):
    endpoint = Endpoint(f"{server[0]}/halves/v1/chat/completions", "m", "openai")
    assert ask(endpoint, "why?").text == "a?b"


def test_a_key_that_no_header_can_hold_is_refused_without_showing_it():
    with pytest.raises(UsageError, match="characters that no key has") as caught:
        find_endpoint("https://host/v1", "m", environ={KEY: "k-secret\nX: y"})
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_one_sentence():
    with pytest.raises(GymsolveError, match=r"^127\.0\.0\.1:9 is not reached \("):
        ask(Endpoint("http://127.0.0.1:9/v1/messages", "m", "anthropic"), "why?")


def test_a_key_goes_to_its_own_address_alone():
    keys = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}
    assert find_endpoint(environ=keys) is None  # nobody named a model
    assert find_endpoint(model="m", environ={"OPENAI_API_KEY": "o"}).url.startswith("https://api.openai.com/")
    found = find_endpoint("https://api.anthropic.com", "m", environ=keys)
    assert (found.format, found.key, found.url) == ("anthropic", "a", "https://api.anthropic.com/v1/messages")
    assert find_endpoint("https://elsewhere.example/v1/messages", "m", environ=keys).key == ""
    with pytest.raises(UsageError, match="unencrypted"):
        ask(find_endpoint("http://elsewhere.example/v1", "m", environ={KEY: "k"}), "why?")


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "elsewhere", "https://", "ftp://host/v1", "http://["],
)
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(UsageError, match="no address of a chat server"):
        find_endpoint(address, "m", environ={})


@pytest.mark.parametrize(
    "address", ["https://user:pw-secret@host/v1", "ftp://user:pw-secret@host", "pw-secret@["]
)
def test_a_password_in_an_address_is_refused_and_not_repeated(address):
    with pytest.raises(UsageError, match="no user and no password") as refused:
        find_endpoint(address, "m", environ={})
    assert "pw-secret" not in str(refused.value)


def test_an_address_without_a_model_is_refused():
    with pytest.raises(UsageError, match="no model is named"):
        find_endpoint("https://host/v1", environ={})
