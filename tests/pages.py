"""Uses pages over HTTP like a browser without JavaScript: opens them, fills in forms, sends them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

import requests

from tests.server import BROWSER


@dataclass
class Form:
    """A form of a page: its action, and the fields that it sends untouched."""

    action: str = ""
    fields: dict[str, str] = field(default_factory=dict)


class Forms(HTMLParser):
    """Collects the forms of a page with their inputs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(told.get("action", "")))
        elif tag == "input" and self.found and "name" in told and self.is_sent(told):
            self.found[-1].fields[told["name"]] = told.get("value", "")

    def is_sent(self, told: dict[str, str]) -> bool:
        kind = told.get("type", "text")
        return kind not in {"file", "submit", "button"} and (
            kind not in {"checkbox", "radio"} or "checked" in told
        )


class Person(requests.Session):
    """An HTTP session with a browser's cookies and `User-Agent` at one site."""

    def __init__(self, site: str) -> None:
        super().__init__()
        self.trust_env = False  # no proxy from the environment between us and our own server
        self.site = site
        self.headers["User-Agent"] = BROWSER

    def open(self, path: str, **options: object) -> requests.Response:
        return self.get(self.site + path if path.startswith("/") else path, timeout=30, **options)  # type: ignore[arg-type]

    def send_form(self, page: requests.Response, action: str, **values: str) -> requests.Response:
        """Fill in the page's form whose action ends with `action`, and send it."""
        forms = [form for form in Forms(page.text).found if form.action.partition("?")[0].endswith(action)]
        assert forms, f"no form that goes to {action} on {page.url}"
        unknown = set(values) - set(forms[0].fields)
        assert not unknown, f"the form has no {unknown}; it has {sorted(forms[0].fields)}"
        answer = self.post(self.site + forms[0].action, data={**forms[0].fields, **values}, timeout=30)
        assert answer.status_code == 200, (
            f"{answer.status_code} for {values} at {action}:\n{answer.text[:3000]}"
        )
        return answer
