"""Firing of pixels: the contract of all providers, and the particulars of each."""

from __future__ import annotations

import json
import re

import pytest

from app.pixels.firing import ANY_HOST, as_script, firing, picture_of
from app.pixels.provider import all_providers

HOST = re.compile(r"https://(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+")
LISTS = ("scripts", "images", "connections", "frames")
ODD = ["a.b_c:d-E9", "-", ":", "." * 128]


# --- the contract: holds for each file of `providers`, also for new ones


@pytest.mark.parametrize("type_", all_providers())
def test_every_provider(type_):
    provider = all_providers()[type_]
    assert "ids" in provider.code
    assert "load(" in provider.code
    assert "</" not in provider.code
    assert "<!--" not in provider.code
    assert "%" not in provider.code
    assert provider.scripts
    for name in LISTS:
        assert all(HOST.fullmatch(host) for host in getattr(provider, name)), name
    loaded = re.findall(r'"(https://[^"/]+)', provider.code)
    assert loaded
    assert all(is_among(host, provider.scripts) for host in loaded)
    if provider.picture:
        assert provider.picture.count("{id}") == 1
        assert is_among(provider.picture, provider.images), "as a picture, without JavaScript"
        assert is_among(provider.picture, provider.connections), "by `fetch`, in place of the script"
    assert provider.is_owners_script or re.compile(provider.counts), "or nobody knows when it has counted"


def is_among(address, hosts):
    host = "/".join(address.split("/")[:3])
    return any(re.fullmatch(re.escape(one).replace(r"\*", "[a-z0-9-]+"), host) for one in hosts)


@pytest.mark.parametrize("id_", ODD)
@pytest.mark.parametrize("type_", all_providers())
def test_an_id_is_a_value_and_never_code(type_, id_):
    fired = firing([(type_, id_)])
    assert in_place_of_id(fired.program(), type_, id_) == in_place_of_id(
        firing([(type_, "1")]).program(), type_, "1"
    )
    for address in fired.pictures():
        assert re.fullmatch(r"https://[A-Za-z0-9._~:/?=&%-]+", address)


def in_place_of_id(program, type_, id_):
    """The program without the two values that may contain the id."""
    picture = as_script(picture_of(all_providers()[type_], id_))
    values = f'"id": {json.dumps(id_)}', f'"picture": {picture}'
    assert [program.count(value) for value in values] == [1, 1]
    return program.replace(values[0], "").replace(values[1], "")


@pytest.mark.parametrize("type_", all_providers())
def test_the_same_twice_fires_once(type_):
    fired = firing([(type_, "1"), (type_, "2"), (type_, "1")])
    assert fired.ids == {type_: ("1", "2")}
    assert fired.program().count('"id": ') == 2
    assert fired.program().count("function (ids, load)") == 1
    assert len(fired.pictures()) in {0, 2}


@pytest.mark.parametrize("type_", all_providers())
def test_a_page_names_the_hosts_of_its_own_providers_and_no_other(type_):
    provider = all_providers()[type_]
    hosts = firing([(type_, "1")]).hosts()
    if provider.is_owners_script:
        assert hosts == ANY_HOST
        return
    told = {
        name: tuple(hosts.get(name, "").split())
        for name in ("script-src", "img-src", "connect-src", "frame-src")
    }
    assert tuple(told.values()) == tuple(getattr(provider, name) for name in LISTS)


# --- each one's own


OWN = {
    "social_a": ("connect.facebook.net/en_US/fbevents.js", ['fbq("init", id)', 'fbq("track", "PageView")']),
    "analytics_a": ("www.googletagmanager.com/gtag/js", ['gtag("js", new Date())', 'gtag("config", id)']),
    "tagmanager_a": ("www.googletagmanager.com/gtm.js", ['"gtm.start"', 'event: "gtm.js"']),
    "social_b": ("snap.licdn.com/li.lms-analytics/insight.min.js", ["_linkedin_data_partner_ids"]),
    "social_c": ("s.pinimg.com/ct/core.js", ['pintrk("load", id)', 'pintrk("page")']),
    "social_d": ("static.ads-twitter.com/uwt.js", ['twq("config", id)']),
    "social_e": ("a.quora.com/qevents.js", ['qp("init", id)', 'qp("track", "ViewContent")']),
    "social_f": ("analytics.tiktok.com/i18n/pixel/events.js", ["ttq.load(id)", "ttq.page()"]),
    "social_g": ("sc-static.net/scevent.min.js", ['snaptr("init", id)', 'snaptr("track", "PAGE_VIEW")']),
}  # fmt: skip
PICTURES = {
    "social_a": "https://www.facebook.com/tr?id=1%3A2&ev=PageView&noscript=1",
    "social_b": "https://px.ads.linkedin.com/collect/?pid=1%3A2&fmt=gif",
    "social_c": "https://ct.pinterest.com/v3/?event=init&tid=1%3A2&noscript=1",
    "social_e": "https://q.quora.com/_/ad/1%3A2/pixel?tag=ViewContent&noscript=1",
}


# requests of the providers' scripts, as observed or documented
ASKS = {
    "social_a": [
        ("script-src", "https://connect.facebook.net/signals/config/1"),
        ("img-src", "https://www.facebook.com/tr/?id=1"),
        ("connect-src", "https://www.facebook.com/tr/"),
    ],
    "analytics_a": [
        ("script-src", "https://www.googletagmanager.com/gtag/js?id=G-1"),
        ("connect-src", "https://www.google-analytics.com/g/collect"),
        ("connect-src", "https://region1.google-analytics.com/g/collect"),
        ("connect-src", "https://analytics.google.com/g/collect"),
        ("connect-src", "https://region1.analytics.google.com/g/collect"),
        ("connect-src", "https://stats.g.doubleclick.net/g/collect"),
        ("connect-src", "https://www.google.com/g/collect"),
        ("img-src", "https://www.googletagmanager.com/a?id=G-1"),
        ("frame-src", "https://td.doubleclick.net/td/ga/rul"),
    ],
    "social_b": [
        *((name, f"https://{shard}.ads.linkedin.com/collect") for shard in ("px", "px4", "dc") for name in
          ("img-src", "connect-src")),
        ("img-src", "https://www.linkedin.com/px/li_sync"),
    ],
    "social_c": [
        ("script-src", "https://s.pinimg.com/ct/lib/main.1.js"),
        ("connect-src", "https://ct.pinterest.com/user/"),
        ("img-src", "https://ct.pinterest.com/v3/"),
        ("frame-src", "https://ct.pinterest.com/ct.html"),
    ],
    "social_d": [
        *((name, f"https://{host}/1/i/adsct") for host in ("t.co", "analytics.twitter.com") for name in
          ("img-src", "connect-src")),
    ],
    "social_e": [("img-src", "https://q.quora.com/_/ad/1/pixel"), ("script-src", "https://a.quora.com/qevents.js")],
    "social_f": [
        ("script-src", "https://analytics.tiktok.com/i18n/pixel/static/main.1.js"),
        ("connect-src", "https://analytics.tiktok.com/api/v2/pixel"),
        ("connect-src", "https://analytics-ipv6.tiktokw.us/ipv6/enrich_ipv6"),
    ],
    "social_g": [
        ("script-src", "https://tr.snapchat.com/config/com/1.js"),
        ("connect-src", "https://tr.snapchat.com/p"),
        ("connect-src", "https://tr6.snapchat.com/p"),
        ("frame-src", "https://tr.snapchat.com/cm/i"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("type_", ASKS)
def test_what_a_providers_script_asks_for_is_allowed(type_):
    hosts = firing([(type_, "1")]).hosts()
    refused = [(name, url) for name, url in ASKS[type_] if not is_among(url, hosts.get(name, "").split())]
    assert refused == []


def test_each_provider_is_named_here():
    assert set(OWN) == set(all_providers())
    assert set(OWN) == {*ASKS, "tagmanager_a"}, "an owner's own may ask anybody"


@pytest.mark.parametrize(("type_", "own"), OWN.items())
def test_the_providers_own_script_and_calls(type_, own):
    script, calls = own
    code = firing([(type_, "1")]).program()
    assert f"https://{script}" in code
    assert [call for call in calls if call not in code] == []


@pytest.mark.parametrize("type_", all_providers())
def test_the_picture_without_a_script(type_):
    assert firing([(type_, "1:2")]).pictures() == ([PICTURES[type_]] if type_ in PICTURES else [])


def test_a_tag_manager_alone_is_the_owners_own():
    assert [type_ for type_, one in all_providers().items() if one.is_owners_script] == ["tagmanager_a"]
    providers, owners = firing([("tagmanager_a", "G"), ("social_a", "1")]).parted()
    assert (dict(providers.ids), dict(owners.ids)) == ({"social_a": ("1",)}, {"tagmanager_a": ("G",)})


def test_several_providers_share_a_policy():
    hosts = firing([("social_a", "1"), ("social_c", "2")]).hosts()
    assert hosts["script-src"] == "https://connect.facebook.net https://s.pinimg.com"
    assert firing([("social_a", "1"), ("tagmanager_a", "2")]).hosts() == ANY_HOST


def test_nothing_fires_nothing():
    fired = firing([("unknown", "1")])
    assert (bool(fired), fired.program(), fired.pictures(), fired.hosts()) == (False, "", [], {})


def test_a_value_in_a_script_can_not_end_it():
    text = as_script("</script><!--&\u2028")
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == "</script><!--&\u2028"


# --- one more provider is one more file
