"""Sign-in by a provider: who gets a session, an account or a link, and who does not."""

from __future__ import annotations

import time
from typing import Any

import pytest
import time_machine
from sqlalchemy import select

from app.accounts.invitations import invite
from app.accounts.models import User, UserSession
from app.accounts.oidc import identities
from app.accounts.oidc.models import OidcIdentity, OidcSession
from app.accounts.setup import setup_token
from app.core.clock import now
from app.core.config import Settings
from app.core.extensions import db
from app.dashboard.auth.oidc_login import FLOW_LIFETIME
from app.notifications.models import SystemEmail
from tests.accounts.codes import code_of, switch_on
from tests.accounts.oidc.conftest import Visit
from tests.accounts.oidc.scripted_provider import SECRET, ScriptedProvider
from tests.factories import PASSWORD


def tie(user: User, provider: ScriptedProvider, subject: str = "alice-1") -> OidcIdentity:
    row = OidcIdentity(user_id=user.id, issuer=provider.url, subject=subject)
    db.session.add(row)
    db.session.commit()
    return row


def test_a_linked_account_signs_in(alice: User, visit: Visit, provider: ScriptedProvider) -> None:
    tie(alice, provider)
    answer = visit.sign_in(next="/dashboard/keys/")
    assert (answer.status_code, answer.location) == (303, "/dashboard/keys/")
    assert visit.is_signed_in()
    asked = provider.asked[0]
    assert asked["response_type"] == "code"
    assert asked["scope"] == "openid profile email"
    assert asked["code_challenge_method"] == "S256"
    assert len(asked["state"]) > 40
    assert len(asked["nonce"]) > 40
    assert not any(SECRET in value for value in asked.values())


# what the provider does: attributes of ScriptedProvider, by name
HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "another issuer": ({"claims": {"iss": "https://id.example"}}, "could not be verified"),
    "no issuer": ({"claims": {"iss": None}}, "could not be verified"),
    "another audience": ({"claims": {"aud": "another"}}, "could not be verified"),
    "several audiences without a party": (
        {"claims": {"aud": ["waypost", "another"]}},
        "could not be verified",
    ),
    "another party": ({"claims": {"azp": "another"}}, "could not be verified"),
    "another nonce": ({"claims": {"nonce": "guessed"}}, "could not be verified"),
    "no nonce": ({"claims": {"nonce": None}}, "could not be verified"),
    "expired": ({"claims": {"exp": int(time.time()) - 120}}, "could not be verified"),
    "without an end": ({"claims": {"exp": None}}, "could not be verified"),
    "from the future": ({"claims": {"iat": int(time.time()) + 3600}}, "could not be verified"),
    "no subject": ({"claims": {"sub": None}}, "could not be verified"),
    "a subject that is too long": ({"claims": {"sub": "s" * 256}}, "could not be verified"),
    "a subject that is a number": ({"claims": {"sub": 7}}, "could not be verified"),
    "the hash of another access token": ({"claims": {"at_hash": "AAAA"}}, "could not be verified"),
    "an unverified address": ({"claims": {"email_verified": False}}, "does not confirm"),
    "an address of which nothing is said": ({"claims": {"email_verified": None}}, "does not confirm"),
    "no address": ({"claims": {"email": None}}, "does not confirm"),
    "an address that is none": ({"claims": {"email": "alice"}}, "does not confirm"),
    "an address with Kelvin's sign": ({"claims": {"email": "\u212aate@example.com"}}, "does not confirm"),
    "an error": ({"error": "access_denied"}, "did not sign you in"),
}
FORGED = ("sign_with_nothing", "sign_with_public_key", "sign_with_another_key", "sign_and_change")


def test_a_hostile_answer_opens_nothing(alice: User, visit: Visit, provider: ScriptedProvider) -> None:
    tie(alice, provider)
    for name in (*HOSTILE, *FORGED):
        changes, words = HOSTILE.get(name, ({}, "could not be verified"))
        provider.claims, provider.error = changes.get("claims", {}), changes.get("error")
        provider.sign = getattr(provider, name if name in FORGED else "sign_well")
        answer = visit.sign_in()
        assert answer.location == "/login", name
        assert words in visit.notice(answer), name
        assert not visit.is_signed_in(), name
        assert db.session.scalars(select(UserSession)).all() == [], name


class TestTheAnswerOfABrowser:
    @pytest.mark.databases
    def test_is_taken_once(self, alice: User, visit: Visit, provider: ScriptedProvider) -> None:
        tie(alice, provider)
        address = provider.authorize(visit.begin())
        cookies = [(c.key, c.value) for c in visit.client._cookies.values() if "oidc" in c.key]
        assert visit.come_back(address).location == "/dashboard/"
        visit.client.get("/logout")
        other = visit.client.application.test_client()
        for key, value in cookies:  # a copy of the cookie does not help
            other.set_cookie(key, value, path="/login/oidc")
        fresh_code = provider.authorize(f"{provider.url}?{address.partition('?')[2]}&redirect_uri=x")
        state = address.partition("state=")[2].partition("&")[0]
        code = fresh_code.partition("code=")[2]
        answer = other.get(f"/login/oidc/callback?state={state}&code={code}")
        assert "expired or was used already" in other.get(answer.location).text
        assert other.get("/dashboard/account/").status_code == 302

    def test_of_another_browser_is_refused(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        tie(alice, provider)
        address = provider.authorize(visit.begin())
        victim = Visit(visit.client.application.test_client(), provider)
        answer = victim.come_back(address)
        assert "expired or was used already" in victim.notice(answer)
        assert not victim.is_signed_in()
        assert provider.counts.get("/token", 0) == 0

    @pytest.mark.parametrize("query", ["", "?state=", "?state=x&code=y", "?code=%ff", "?state=a&state=b"])
    def test_without_a_sign_in_is_refused(self, alice: User, visit: Visit, query: str) -> None:
        answer = visit.client.get(f"/login/oidc/callback{query}")
        assert (answer.status_code, answer.location) == (303, "/login")

    def test_too_late_is_refused(self, alice: User, visit: Visit, provider: ScriptedProvider) -> None:
        tie(alice, provider)
        address = provider.authorize(visit.begin())
        with time_machine.travel(now() + FLOW_LIFETIME * 1.1):
            assert visit.come_back(address).location == "/login"

    def test_two_tabs_do_not_spoil_each_other(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        tie(alice, provider)
        first = provider.authorize(visit.begin(next="/dashboard/keys/"))
        second = provider.authorize(visit.begin(next="/dashboard/pixels/"))
        assert visit.come_back(second).location == "/dashboard/pixels/"
        assert visit.come_back(first).location == "/dashboard/keys/"


@pytest.mark.parametrize("next_", ["https://evil.example/", "/dashboard/../alias"])
def test_next_is_a_page_of_the_dashboard(
    alice: User, visit: Visit, provider: ScriptedProvider, next_: str
) -> None:
    tie(alice, provider)
    assert visit.sign_in(next=next_).location == "/dashboard/"


class TestAnAccountWithThisAddress:
    """Whoever has the address at the provider must not get the account for it."""

    def test_is_linked_after_its_password(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        answer = visit.sign_in(next="/dashboard/keys/")
        assert answer.location == "/login/oidc/link"
        assert not visit.is_signed_in()
        wrong = visit.post("/login/oidc/link", "/login/oidc/link", own_password="a guess")
        assert wrong.status_code == 403
        assert not visit.is_signed_in()
        right = visit.post("/login/oidc/link", "/login/oidc/link", own_password=PASSWORD)
        assert (right.status_code, right.location) == (303, "/dashboard/keys/")
        assert visit.is_signed_in()
        row = db.session.scalars(select(OidcIdentity)).one()
        assert (row.user_id, row.subject, row.email) == (alice.id, "alice-1", "alice@example.com")
        again = Visit(visit.client.application.test_client(), provider)
        assert again.sign_in().location == "/dashboard/"

    @pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:2525")
    @pytest.mark.parametrize("way", ["password", "admin"])
    def test_is_told_by_mail_once(
        self, alice: User, visit: Visit, provider: ScriptedProvider, way: str
    ) -> None:
        if way == "admin":
            identities.allow(alice, provider.url)
            db.session.commit()
        visit.sign_in()
        if way == "password":
            visit.post("/login/oidc/link", "/login/oidc/link", own_password=PASSWORD)
        Visit(visit.client.application.test_client(), provider).sign_in()
        db.session.rollback()
        mail = db.session.scalars(select(SystemEmail)).one()
        assert mail.content is not None
        assert (mail.email, mail.content["title"]) == (
            alice.email,
            "Single sign-on is linked to your account",
        )

    def test_is_linked_once(self, alice: User, visit: Visit, provider: ScriptedProvider) -> None:
        tie(alice, provider, "the-first")
        assert "linked to another sign-in" in visit.notice(visit.sign_in())
        assert not visit.is_signed_in()

    def test_guesses_are_limited(self, alice: User, visit: Visit) -> None:
        visit.sign_in()
        statuses = [
            visit.post("/login/oidc/link", "/login/oidc/link", own_password=f"guess {n}").status_code
            for n in range(16)
        ]
        assert statuses == [403] * 15 + [429]

    def test_keeps_its_second_factor(self, alice: User, visit: Visit, provider: ScriptedProvider) -> None:
        switch_on(alice)
        visit.sign_in()
        answer = visit.post("/login/oidc/link", "/login/oidc/link", own_password=PASSWORD)
        assert answer.location == "/login/code"
        assert not visit.is_signed_in()
        assert db.session.scalars(select(OidcIdentity)).all() == []
        answer = visit.post("/login/code", "/login/code", code=code_of(alice, 1))
        assert answer.location == "/dashboard/"
        assert visit.is_signed_in()
        assert db.session.scalars(select(OidcIdentity)).one().subject == "alice-1"

    def test_is_linked_where_an_admin_allowed_it(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        identities.allow(alice, provider.url)
        db.session.commit()
        assert visit.sign_in().location == "/dashboard/"
        assert db.session.scalars(select(OidcIdentity)).one().subject == "alice-1"

    def test_is_not_linked_by_an_address_that_is_not_verified_here(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        alice.verified_email = None
        identities.allow(alice, provider.url)
        db.session.commit()
        assert visit.sign_in().location == "/login/oidc/link"
        assert not visit.is_signed_in()

    def test_is_not_opened_where_it_is_disabled(
        self, alice: User, visit: Visit, provider: ScriptedProvider, bob: User
    ) -> None:
        tie(bob, provider, "bob-1")
        bob.disabled_datetime = now()
        db.session.commit()
        provider.person = {"sub": "bob-1", "email": "bob@example.com", "email_verified": True}
        assert "disabled" in visit.notice(visit.sign_in())
        assert not visit.is_signed_in()

    def test_another_subject_with_its_address_does_not_get_in(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        tie(alice, provider)
        provider.person = {"sub": "mallory", "email": "ALICE@example.com", "email_verified": True}
        assert "linked to another sign-in" in visit.notice(visit.sign_in())
        assert not visit.is_signed_in()


class TestANewPerson:
    def test_gets_no_account_by_default(self, alice: User, visit: Visit, provider: ScriptedProvider) -> None:
        provider.person = {"sub": "eve", "email": "eve@example.com", "email_verified": True}
        assert "eve@example.com has no account here" in visit.notice(visit.sign_in())
        assert len(db.session.scalars(select(User)).all()) == 1

    @pytest.mark.settings(OIDC_EMAIL_DOMAINS="Example.com")
    @pytest.mark.parametrize(
        ("email", "is_let_in"),
        [("eve@EXAMPLE.com", True), ("eve@sub.example.com", False), ("eve@example.com.evil.example", False)],
    )
    def test_signs_up_with_an_address_of_a_domain(
        self, alice: User, visit: Visit, provider: ScriptedProvider, email: str, is_let_in: bool
    ) -> None:
        provider.person = {"sub": "eve", "email": email, "email_verified": True, "name": "Eve\x00 E."}
        visit.sign_in()
        assert visit.is_signed_in() is is_let_in
        made = db.session.scalars(select(User).where(User.id != alice.id)).all()
        assert [(user.email, user.name, user.has_password, user.is_admin) for user in made] == [
            ("eve@example.com", "Eve E.", False, False)
        ] * is_let_in

    @pytest.mark.settings(OIDC_EMAIL_DOMAINS="*")
    def test_is_never_the_first(self, visit: Visit) -> None:
        assert "no account here" in visit.notice(visit.sign_in())
        assert db.session.scalars(select(User)).all() == []

    def test_is_the_first_with_the_set_up_address(self, visit: Visit, settings: Settings) -> None:
        token = setup_token(settings.data_dir)
        answer = visit.sign_in(setup="wrong")
        assert answer.location == "/setup?token=wrong"
        assert db.session.scalars(select(User)).all() == []
        assert visit.sign_in(setup=token).location == "/dashboard/"
        user = db.session.scalars(select(User)).one()
        assert (user.email, user.is_admin, user.has_password) == ("alice@example.com", True, False)

    @pytest.mark.databases
    def test_accepts_an_invitation(self, alice: User, visit: Visit, provider: ScriptedProvider) -> None:
        token = invite(alice)[1]
        db.session.commit()
        provider.person = {"sub": "eve", "email": "eve@example.com", "email_verified": True}
        assert visit.sign_in(invitation=token).location == "/dashboard/"
        made = db.session.scalars(select(User).where(User.id != alice.id)).one()
        assert made.is_own_address("eve@example.com")
        provider.person = {"sub": "mallory", "email": "mallory@example.com", "email_verified": True}
        other = Visit(visit.client.application.test_client(), provider)
        other.sign_in(invitation=token)
        assert not other.is_signed_in()


def test_a_second_factor_of_waypost_is_asked_for(
    alice: User, visit: Visit, provider: ScriptedProvider
) -> None:
    tie(alice, provider)
    switch_on(alice)
    assert visit.sign_in(next="/dashboard/keys/").location == "/login/code"
    assert not visit.is_signed_in()
    answer = visit.post("/login/code", "/login/code", code=code_of(alice, 1))
    assert answer.location == "/dashboard/keys/"
    assert visit.is_signed_in()
    assert len(db.session.scalars(select(OidcSession)).all()) == 1


@pytest.mark.parametrize(
    ("token", "userinfo", "opens"),
    [
        ({"email_verified": None}, {"email": "victim@example.com", "email_verified": True}, "victim"),
        ({"email_verified": None}, {"email_verified": True}, None),
        ({"email_verified": None}, {"email": "alice@example.com"}, None),
        ({"email": None}, {"email": "victim@example.com"}, None),
        ({"email": None}, {"email": "victim@example.com", "email_verified": False}, None),
        ({"email_verified": False}, {"email": "victim@example.com", "email_verified": True}, None),
        ({}, {"email": "victim@example.com", "email_verified": False}, "alice"),
    ],
)
@pytest.mark.settings(OIDC_ROLES="groups=marketing:3:editor")  # so the userinfo endpoint is always asked
def test_an_address_and_its_confirmation_are_of_one_source(
    bob: User,
    visit: Visit,
    provider: ScriptedProvider,
    token: dict[str, Any],
    userinfo: dict[str, Any],
    opens: str | None,
) -> None:
    provider.claims, provider.userinfo = token, {"sub": provider.person["sub"], **userinfo}
    answer = visit.come_back(provider.authorize(visit.begin()))
    assert provider.counts["/userinfo"] == 1
    if opens is None:
        assert "does not confirm your e-mail address" in visit.notice(answer)
    else:
        assert f"{opens}@example.com" in visit.notice(answer)
