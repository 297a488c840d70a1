"""Invitations end to end: created in the dashboard, mailed by the worker, used several times at once."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.notifications.receivers import MailReceiver
from tests.pages import Forms, Person
from tests.server import Server, wait_for

PASSWORD = "five small boats go upriver"


@pytest.fixture
def mail() -> Iterator[MailReceiver]:
    receiver = MailReceiver()
    yield receiver
    receiver.stop()


def invitation(admin: Person, mail: MailReceiver) -> str:
    """Invites a user; returns the path of the mailed address, which is the same as the one on the page."""
    page = admin.send_form(
        admin.open("/dashboard/users/invitations/new"), "/invitations/new", email="new@example.com"
    )
    shown = re.search(r"http://127[^<\s]*/setup/invitation\?token=[\w-]+", page.text)
    assert shown
    wait_for(lambda: mail.mails, "the mail")
    [(envelope, message)] = mail.mails
    assert envelope.rcpt_tos == ["new@example.com"]
    body = message.get_body(("plain",))
    assert body
    assert f"Create your account: {shown[0]}" in body.get_content()
    html = message.get_body(("html",))
    assert html
    assert shown[0] in html.get_content()
    assert "set up for notifications" not in html.get_content()
    return shown[0].partition("/setup")[1] + shown[0].partition("/setup")[2]


@pytest.mark.full
def test_from_the_dashboard_by_mail_to_one_account(
    make_server: Callable[..., Server], mail: MailReceiver
) -> None:
    server = make_server(SMTP_URL=f"smtp://127.0.0.1:{mail.port}", PROCESSES="2")
    server.flask("users", "create", "--email", "admin@example.com", "--password-stdin", stdin=PASSWORD)
    with Person(server.url) as admin:
        admin.send_form(admin.open("/login"), "/login", email="admin@example.com", password=PASSWORD)
        path = invitation(admin, mail)
        found = at_once(server, path)
        assert sorted(found) == [303, 410, 410, 410]
        assert server.flask("users", "list").count("@example.com") == 2
        admin.send_form(admin.open("/dashboard/instance/"), "/instance/mail")
        wait_for(lambda: len(mail.mails) == 2, "the test mail")
        wait_for(
            lambda: "took the test mail" in admin.open("/dashboard/instance/mail").text, "what became of it"
        )
    server.stop()
    assert path.partition("token=")[2] not in server.written()


def at_once(server: Server, path: str) -> list[int]:
    """Statuses of four submissions of the same invitation at once, each by another browser and address."""
    people = [Person(server.url) for _ in range(4)]
    forms = [Forms(person.open(path).text).found[0] for person in people]
    ready, statuses = threading.Barrier(4), []

    def send(number: int) -> None:
        data = {**forms[number].fields, "email": f"new{number}@example.com", "password": PASSWORD}
        ready.wait()
        answer = people[number].post(
            server.url + forms[number].action, data=data, timeout=60, allow_redirects=False
        )
        statuses.append(answer.status_code)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for person in people:
        person.close()
    return statuses
