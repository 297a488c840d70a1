"""Body templates of webhooks: what they print, what is refused, and that nothing typed changes their form."""

from __future__ import annotations

import datetime as dt
import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from app.input.parsers import Rejected
from app.net.session import OutboundSession
from app.notifications.body_template import MAX_BYTES, PLACEHOLDERS, read_template
from app.notifications.formatting import in_plain_text
from app.notifications.message import Message
from app.notifications.transport import DeliveryFailed
from app.notifications.transports.webhook import new_secret, send
from tests.clients import Api
from tests.notifications.messages import LINK, NASTY, event, nasty, report
from tests.notifications.receivers import WebReceiver

QUOTES = 'a "b" \\ \n </script> é😀'
TEST_DATA = {"handler": {"id": 3, "name": QUOTES, "type": "webhook"}}


def a_test() -> Message:
    return event(type="handler.test", data=TEST_DATA)


RENDERED: dict[str, tuple[str, Message, Any]] = {
    "a text": ('{"text": "{{ event.type }}!"}', event(), {"text": "link.clicks_limit_reached!"}),
    "several in a string": ('["{{ link.id }}: {{ link.url }}"]', event(), ["7: launch"]),
    "a number": ('{"clicks": {{ link.clicks }}}', event(), {"clicks": 500}),
    "all of the data": ('{"d": {{ event.data }}}', event(), {"d": {"link": LINK, "clicks_limit": 500}}),
    "nothing but a placeholder": ("{{ event.title }}", event(title=QUOTES), QUOTES),
    "a missing value": ('{"a": {{ link.id }}, "b": "{{ link.url }}"}', a_test(), {"a": None, "b": ""}),
    "typed text": ('{"a": "{{ handler.name }}", "b": {{ handler.name }}}', a_test(), {"a": QUOTES, "b": QUOTES}),
    "nasty text": ('{"a": "{{ event.text }}"}', nasty(), {"a": NASTY}),
    "a report": ('{"a": {{ link.id }}, "t": "{{ event.title }}"}', report(), {"a": None, "t": "Your weekly report"}),
    "the whole message": ('{"a": {{ event.message }}}', report(), {"a": in_plain_text(report())}),
    "times": (
        '["{{ event.datetime }}", "{{ event.timestamp }}"]',
        event(),
        ["2026-11-21 12:30:00", "2026-11-21T12:30:00Z"],
    ),
    "a quote that is escaped": ('{"a": "\\"{{ link.id }}\\""}', event(), {"a": '"7"'}),
    "a backslash at the end of a string": ('["\\\\", {{ link.id }}, "{{ link.id }}"]', event(), ["\\", 7, "7"]),
}  # fmt: skip


@pytest.mark.parametrize("name", RENDERED)
def test_json(name: str) -> None:
    text, message, expected = RENDERED[name]
    template = read_template(text)
    assert template.is_json and template.content_type == "application/json"
    assert json.loads(template.render(message)) == expected


PLAIN = {
    "words": ("New: {{ event.title }}", "New: a \\\"b\\\" \\\\ \\n </script> é😀"),
    "a form": ("text={{ event.type }}&n={{ link.clicks }}", "text=link.clicks_limit_reached&n=500"),
    "in brackets": ("[Waypost] {{ event.type }}", "[Waypost] link.clicks_limit_reached"),
    "quotes outside of JSON": ('say "{{ link.url }}" {{ link.url }}', 'say "launch" launch'),
    "XML": ("<a>{{ link.id }}</a>", "<a>7</a>"),
    "a missing value": ("<a>{{ handler.id }}</a>", "<a></a>"),
    "single braces": ("a } b { c }} {{ link.id }}", "a } b { c }} 7"),
    "two placeholders side by side": ("{{ link.id }}{{ link.id }}", "77"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_text(name: str) -> None:
    text, expected = PLAIN[name]
    template = read_template(text)
    assert not template.is_json and template.content_type == "text/plain; charset=utf-8"
    assert template.render(event(title=QUOTES)) == expected


BAD = {
    "an unknown name": ("{{ event.secret }}", "placeholder"),
    "a filter": ("{{ event.type|upper }}", "placeholder"),
    "an attribute": ("{{ event.__class__ }}", "placeholder"),
    "a name within a name": ("{{ {{ link.id }} }}", "placeholder"),
    "three braces": ('{"a": {{{ link.id }}}}', "placeholder"),
    "never closed": ("{{ event.type", "format"),
    "opened again at the end": ("{{ event.type }} {{", "format"),
    "a brace that is missing": ('{"text": "{{ event.title }}"', "format"),
    "a number of two parts": ('{"n": 1{{ link.id }}}', "format"),
    "half an escape before it": ('{"n": "\\{{ link.url }}"}', "format"),
    "half a code behind it": ('{"n": "\\{{ link.url }}u0041"}', "format"),
    "a number as a name": ("{ {{ link.id }}: 1}", "format"),
    "a constant that is no JSON": ('{"a": NaN}', "format"),
    "a line end in a string": ('{"a": "\n"}', "format"),
    "too deep": ('{"a": ' + "[" * 9000 + "}", "format"),
    "too much": ("{{ event.data }} {{ event.data }} x", "too_long"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(name: str) -> None:
    text, code = BAD[name]
    with pytest.raises(Rejected) as caught:
        read_template(text)
    assert caught.value.args[0].code == code


def test_each_placeholder_prints_something() -> None:
    for name in PLACEHOLDERS:
        message = a_test() if name.startswith("handler.") else event()
        bare, quoted = (
            json.loads(read_template(text.replace("NAME", name)).render(message))
            for text in ("[{{ NAME }}]", '["{{ NAME }}"]')
        )
        assert bare[0] not in ("", None)
        as_text = bare[0] if isinstance(bare[0], str) else json.dumps(bare[0], separators=(",", ":"))
        assert quoted == [as_text]


@given(
    before=st.text(alphabet=string.printable, max_size=20),
    typed=st.text(alphabet=st.characters(), max_size=40),
)
def test_nothing_typed_changes_the_form(before: str, typed: str) -> None:
    """Whatever an owner types in a template and in a name: what is JSON by its text is JSON when it is sent."""
    message = event(title=typed)
    for text in (
        json.dumps(before)[:-1] + '{{ event.title }}"',
        "[" + json.dumps(before) + ",{{ event.title }}]",
    ):
        try:
            template = read_template(text)
        except Rejected:
            # which would be a placeholder; after one more bracket its name would begin with that
            assert "{{" in before or before.endswith("{")
            continue
        sent = json.loads(template.render(message)) if template.is_json else None
        shown = typed.encode("utf-8", "replace").decode()
        assert sent is None or sent in (before + shown, [before, shown])
        assert template.is_json or "{{" in before


# --- a webhook


def test_the_bytes_that_are_sent_are_signed(web: WebReceiver, outbound: OutboundSession) -> None:
    secret, text = new_secret(), '{"text": "{{ event.title }}",  "é": {{ link.clicks }}}'
    send({"webhook": web.url, "secret": secret, "webhook_template": text}, event(title="ü"), outbound)
    (heard,) = web.heard
    assert heard.body.decode() == '{"text": "ü",  "é": 500}'
    assert Webhook(secret).verify(heard.body, dict(heard.headers)) == {"text": "ü", "é": 500}
    assert heard.headers["content-type"] == "application/json"
    assert heard.headers["webhook-id"] == event().id


def test_a_text_is_signed_as_well(web: WebReceiver, outbound: OutboundSession) -> None:
    secret = new_secret()
    send({"webhook": web.url, "secret": secret, "webhook_template": "{{ link.id }}: ü"}, event(), outbound)
    (heard,) = web.heard
    assert (heard.body.decode(), heard.headers["content-type"]) == ("7: ü", "text/plain; charset=utf-8")
    signer = Webhook(secret)
    signed = signer.sign(heard.headers["webhook-id"], time_of(heard.headers["webhook-timestamp"]), "7: ü")
    assert heard.headers["webhook-signature"] == signed


def time_of(seconds: str) -> dt.datetime:
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC)


UNUSABLE = {
    "too long for this message": ("{{ event.data }}", "With the body template this is larger than 64 KiB."),
    "a placeholder that is no more": ("{{ event.old }}", "There is no placeholder “event.old”."),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_can_not_be_sent_is_not_tried_again(
    name: str, web: WebReceiver, outbound: OutboundSession
) -> None:
    text, words = UNUSABLE[name]
    message = event(data={"x": "y" * MAX_BYTES})
    with pytest.raises(DeliveryFailed) as caught:
        send({"webhook": web.url, "secret": new_secret(), "webhook_template": text}, message, outbound)
    assert caught.value.permanent and not caught.value.gone and words in str(caught.value.reason)
    assert not web.heard


API_ERRORS = {
    "an unknown placeholder": ("{{ user.password }}", "placeholder"),
    "JSON that is none": ("{", "format"),
    "too long": ("x" * 10_001, "too_long"),
    "that prints too much": ("{{ event.data }}{{ event.data }}{{ link.id }}", "too_long"),
    "a control character": ("a\x07", "control_characters"),
}


@pytest.mark.parametrize("name", API_ERRORS)
def test_the_api_says_so_on_its_field(name: str, api: Api) -> None:
    text, code = API_ERRORS[name]
    handler = {"type": "webhook", "name": "n", "webhook": "https://example.com/", "webhook_template": text}
    answer = api.post("/notification-handlers", handler)
    assert answer.status_code == 422
    assert [(one["field"], one["code"]) for one in answer.json["errors"]] == [("webhook_template", code)]
