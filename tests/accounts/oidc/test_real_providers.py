"""The whole way with real providers, over HTTP: sign-in, roles, reauthentication, logout by the provider."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest
import requests
from sqlalchemy import select
from werkzeug.serving import make_server

from app import create_app
from app.accounts.oidc.models import OidcIdentity
from app.core.config import Settings, load_settings
from app.core.extensions import db
from app.core.secret_keys.ring import SecretKeys, use_keys
from tests.factories import PASSWORD, Factory
from tests.migrations import environ
from tests.server import free_port, wait_for

MOCK, NODE = "oidc-provider-mock", "oidc-provider"


@pytest.fixture
def settings(data_dir: Path, database_url: str) -> Settings:
    found = load_settings(environ(data_dir, database_url))
    use_keys(SecretKeys(found.secret_key, found.secret_key_old, found.secret_key_dir))
    return found


@contextmanager
def serving(data_dir: Path, database_url: str, issuer: str, port: int, **more: str) -> Iterator[None]:
    """Waypost on this port, with alice, and this provider."""
    values = {"OIDC_ISSUER": issuer, "OIDC_CLIENT_ID": "waypost", "OIDC_CLIENT_SECRET": NODE_SECRET}
    app = create_app(load_settings(environ(data_dir, database_url, **values, **more)))
    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = Thread(target=server.serve_forever)
    with app.app_context():
        Factory(db.session).user("alice@example.com")
        db.session.commit()
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
            app.extensions["redirects"].close()
            app.extensions["rate_limiter"].close()
            app.extensions["audit_failures"].close()
            db.engine.dispose()


class Browser(requests.Session):
    """A browser without JavaScript, which keeps cookies of both sites."""

    def __init__(self, site: str) -> None:
        super().__init__()
        self.trust_env = False
        self.site = site

    def sign_in(self, path: str = "/login/oidc") -> requests.Response:
        """Press the button, and answer the provider's question where it asks one."""
        page = self.get(self.site + path, timeout=30)
        if "/oauth2/authorize" in page.url:
            page = self.post(page.url, data={"sub": "alice"}, timeout=30)
        return page

    def send_form(self, page: requests.Response, path: str, **fields: str) -> requests.Response:
        found = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
        assert found, page.text
        data = {"csrf_token": html.unescape(found[1]), **fields}
        return self.post(self.site + path, data=data, headers={"Referer": page.url}, timeout=30)

    def is_signed_in(self) -> bool:
        answer = self.get(f"{self.site}/dashboard/account/", allow_redirects=False, timeout=30)
        return answer.status_code == 200


@pytest.fixture
def start(data_dir: Path, database_url: str, settings: Settings) -> Iterator[Callable[[str], Browser]]:
    """`start(NODE)`: both servers, and a browser."""
    with ExitStack() as running:

        def begin(name: str, **more: str) -> Browser:
            port, site_port = free_port(), free_port()
            site = f"http://127.0.0.1:{site_port}"
            issuer = running.enter_context(mock_provider() if name == MOCK else node_provider(port, site))
            running.enter_context(serving(data_dir, database_url, issuer, site_port, **more))
            return Browser(site)

        yield begin


@pytest.mark.parametrize("name", [MOCK, NODE])
def test_link_once_and_sign_in(start: Callable[..., Browser], name: str) -> None:
    browser = start(name)
    page = browser.sign_in()
    assert page.url == f"{browser.site}/login/oidc/link", page.text
    page = browser.send_form(page, "/login/oidc/link", own_password=PASSWORD)
    assert page.url == f"{browser.site}/dashboard/links/"
    other = Browser(browser.site)
    assert other.sign_in("/login/oidc?next=/dashboard/keys/").url == f"{browser.site}/dashboard/keys/"


@pytest.mark.full
class TestOfNode:
    def test_roles_come_from_userinfo(self, start: Callable[..., Browser]) -> None:
        browser = start(NODE, OIDC_ROLES="groups=marketing:1:editor")
        browser.send_form(browser.sign_in(), "/login/oidc/link", own_password=PASSWORD)
        row = db.session.scalars(select(OidcIdentity)).one()
        assert (row.subject, row.roles) == ("alice", {"1": "editor"})

    def test_its_logout_ends_the_session(self, start: Callable[..., Browser]) -> None:
        browser = start(NODE)
        browser.send_form(browser.sign_in(), "/login/oidc/link", own_password=PASSWORD)
        elsewhere = Browser(browser.site)
        elsewhere.sign_in()
        assert browser.is_signed_in()
        issuer = db.session.scalars(select(OidcIdentity.issuer)).one()
        db.session.commit()
        page = browser.get(f"{issuer}/session/end", timeout=30)
        found = re.search(r'name="xsrf" value="([^"]+)"', page.text)
        assert found, page.text
        browser.post(f"{issuer}/session/end/confirm", data={"xsrf": found[1], "logout": "yes"}, timeout=30)
        assert not browser.is_signed_in()
        assert elsewhere.is_signed_in(), "another session of the provider goes on"


FOLDER = Path(__file__).parent / "node_provider"
MODULE = FOLDER / "node_modules" / "oidc-provider"
NO_NODE = "no Node.js, or `npm ci` in tests/accounts/oidc/node_provider was not run (`make test` does it)"
ALICE = {"sub": "alice", "email": "alice@example.com", "email_verified": True, "name": "Alice"}
NODE_SECRET = "secret-of-the-client"


@contextmanager
def running(command: list[str], port: int, environ: Mapping[str, str]) -> Iterator[str]:
    """A provider on this port, ready. Returns its issuer."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **environ},
        cwd=FOLDER,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers(process, url), "the provider")
        yield url
    finally:
        process.terminate()
        process.wait(30)


def answers(process: subprocess.Popen[bytes], url: str) -> bool:
    assert process.poll() is None, "the provider ended"
    try:
        found = requests.get(f"{url}/.well-known/openid-configuration", timeout=5)
    except requests.ConnectionError:
        return False
    return found.status_code == 200


@contextmanager
def mock_provider() -> Iterator[str]:
    """It asks who one is by a form, and takes every client."""
    port = free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    command += ["--user-claims", json.dumps(ALICE)]
    with running(command, port, {}) as url:
        yield url


@contextmanager
def node_provider(port: int, site: str) -> Iterator[str]:
    """It signs everybody in as alice. `site`: where Waypost is."""
    node = shutil.which("node")
    if node is None or not MODULE.exists():
        pytest.skip(NO_NODE)
    with running([node, "provider.js"], port, {"PORT": str(port), "SITE": site}) as url:
        yield url
