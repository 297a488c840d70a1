"""Stand-ins for the scripts of the pixel providers, and the requests by which each counts a view.

The providers' own scripts can't be loaded in a test. Each stand-in does to its page what the provider's script
was seen to do in Chromium 156 in November 2026: which cookies and storage it touches and whether it survives
without them, what it loads next, and by which request (picture, fetch, beacon) the view is counted. Addresses
were compared with requests recorded in public bug reports and archives of pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, Request, Route

# what each stand-in can use: the calls that the page has queued, a script that follows, a cookie and a store
# that it needs, as the real script fails without them
TOOLS = """
  var here = new URL(document.currentScript.src);
  var queued = function (calls) { return Array.from(calls || [], function (call) { return Array.from(call); }); };
  var next = function (address) {
    var script = document.createElement("script"); script.src = address; document.head.appendChild(script);
  };
  var page = encodeURIComponent(location.href);
  var needs = function (name) {
    document.cookie = name + "=" + Math.random() + "; path=/; max-age=3600";
    if (document.cookie.indexOf(name + "=") < 0) { throw new Error("no cookies"); }
    localStorage.setItem(name, "1");
    sessionStorage.setItem(name, "1");
    if (localStorage.getItem(name) !== "1") { throw new Error("no storage"); }
  };
"""


@dataclass(frozen=True)
class StandIn:
    """One provider's script. `view` finds the requests that count a view, by address and body together."""

    script: str
    body: str
    view: str
    id: str
    more: Mapping[str, str] = field(default_factory=dict)


STAND_INS = {
    # gtag.js: no cookies and no hits where `window.origin` is "null"; a hit is a beacon or a fetch with keepalive
    "analytics_a": StandIn(
        "https://www.googletagmanager.com/gtag/js",
        """if (window.origin === "null") { return; }
        needs("_ga");
        queued(dataLayer).filter(function (call) { return call[0] === "config"; }).forEach(function (call) {
          navigator.sendBeacon("https://region1.google-analytics.com/g/collect?v=2&tid=" + call[1]
            + "&cid=1.2&en=page_view&dl=" + page);
        });""",
        r"https://region1\.google-analytics\.com/g/collect\?v=2&tid=ID&.*en=page_view",
        "G-AB12CD34EF",
    ),
    # fbevents.js: does without cookies; each id's configuration is one more script, and then a picture is asked for
    "social_a": StandIn(
        "https://connect.facebook.net/en_US/fbevents.js",
        """queued(fbq.queue).filter(function (call) { return call[0] === "init"; }).forEach(function (call) {
          next("https://connect.facebook.net/signals/config/" + call[1] + "?v=2.9.200");
        });""",
        r"https://www\.facebook\.com/tr/?\?id=ID&ev=PageView",
        "1234567890123456",
        {
            "https://connect.facebook.net/signals/config/": """
        try { needs("_fbp"); } catch (error) { console.info(error.message); }
        new Image().src = "https://www.facebook.com/tr/?id=" + here.pathname.split("/").pop() + "&ev=PageView&dl=" + page;"""
        },
    ),
    # insight.min.js: stops at `document.cookie`
    "social_b": StandIn(
        "https://snap.licdn.com/li.lms-analytics/insight.min.js",
        """needs("li_adsId");
        window._linkedin_data_partner_ids.forEach(function (id) {
          var picture = document.createElement("img");
          picture.setAttribute("src", "https://px.ads.linkedin.com/collect?v=2&fmt=js&pid=" + id + "&time=1&url=" + page);
        });""",
        r"https://px\.ads\.linkedin\.com/collect/?\?.*pid=ID&",
        "1234567",
    ),
    # core.js only loads the real one, which asks about the tag first and does without cookies
    "social_c": StandIn(
        "https://s.pinimg.com/ct/core.js",
        """next("https://s.pinimg.com/ct/lib/main.0a1b2c3d.js");""",
        r"https://ct\.pinterest\.com/v3/\?(event=init&tid=ID|tid=ID&event=init)",
        "2612345678901",
        {
            "https://s.pinimg.com/ct/lib/main.": """
        try { needs("_pin_unauth"); } catch (error) { console.info(error.message); }
        queued(pintrk.queue).filter(function (call) { return call[0] === "load"; }).forEach(function (call) {
          var request = new XMLHttpRequest();
          request.open("GET", "https://ct.pinterest.com/user/?tid=" + call[1]);
          request.onloadend = function () {
            new Image().src = "https://ct.pinterest.com/v3/?tid=" + call[1] + "&event=init&ad=" + page;
            new Image().src = "https://ct.pinterest.com/v3/?tid=" + call[1] + "&event=pagevisit&ad=" + page;
          };
          request.send();
        });"""
        },
    ),
    # uwt.js: the same picture from two hosts
    "social_d": StandIn(
        "https://static.ads-twitter.com/uwt.js",
        """try { needs("_twpid"); } catch (error) { console.info(error.message); }
        queued(twq.queue).filter(function (call) { return call[0] === "config"; }).forEach(function (call) {
          ["https://t.co/1/i/adsct", "https://analytics.twitter.com/1/i/adsct"].forEach(function (address) {
            new Image().src = address + "?bci=4&event_id=1&p_id=Twitter&tw_document_href=" + page
              + "&txn_id=" + call[1] + "&type=javascript";
          });
        });""",
        r"https://t\.co/1/i/adsct\?.*&txn_id=ID&",
        "o1ab2",
    ),
    # qevents.js: a picture whose address has the id in its path
    "social_e": StandIn(
        "https://a.quora.com/qevents.js",
        """queued(qp.queue).filter(function (call) { return call[0] === "init"; }).forEach(function (call) {
          new Image().src = "https://q.quora.com/_/ad/" + call[1] + "/pixel?j=1&u=" + page + "&tag=ViewContent";
        });""",
        r"https://q\.quora\.com/_/ad/ID/pixel\?.*tag=ViewContent",
        "0123456789abcdef0123456789abcdef",
    ),
    # events.js: stops at `document.cookie`; the id stands in the body of a beacon
    "social_f": StandIn(
        "https://analytics.tiktok.com/i18n/pixel/events.js",
        """next("https://analytics.tiktok.com/i18n/pixel/static/main.MTA.js?id=" + here.searchParams.get("sdkid"));""",
        r"https://analytics\.tiktok\.com/api/v2/pixel \{.*\"code\":\"ID\"",
        "C4ABCDEFGH1234567890",
        {
            "https://analytics.tiktok.com/i18n/pixel/static/": """
        needs("_ttp");
        var body = {"event": "Pageview", "context": {"pixel": {"code": here.searchParams.get("id")}}};
        navigator.sendBeacon("https://analytics.tiktok.com/api/v2/pixel", JSON.stringify(body));"""
        },
    ),
    # scevent.min.js: the id's configuration is one more script; then the same is sent to two hosts
    "social_g": StandIn(
        "https://sc-static.net/scevent.min.js",
        """queued(snaptr.queue).filter(function (call) { return call[0] === "init"; }).forEach(function (call) {
          next("https://tr.snapchat.com/config/com/" + call[1] + ".js?v=3.1");
        });""",
        r"https://tr\.snapchat\.com/p pid=ID&ev=PAGE_VIEW",
        "01234567-89ab-cdef-0123-456789abcdef",
        {
            "https://tr.snapchat.com/config/": """
        try { needs("_scid"); } catch (error) { console.info(error.message); }
        var id = here.pathname.split("/").pop().replace(".js", "");
        ["https://tr.snapchat.com/p", "https://tr6.snapchat.com/p"].forEach(function (address) {
          fetch(address, {"method": "POST", "mode": "no-cors", "keepalive": true, "credentials": "include",
            "body": new URLSearchParams({"pid": id, "ev": "PAGE_VIEW", "pl": location.href})});
        });"""
        },
    ),
    # gtm.js: its tags are chosen by the owner; this one has a single picture
    "tagmanager_a": StandIn(
        "https://www.googletagmanager.com/gtm.js",
        """new Image().src = "https://tags.example/hit?container=" + here.searchParams.get("id");""",
        r"https://tags\.example/hit\?container=ID",
        "GTM-AB12CD3",
    ),
}


class Providers:
    """The providers' hosts as one browser sees them: scripts come when a test says so, and views are counted."""

    def __init__(self, context: BrowserContext, *, is_open: bool = False, answers_views: bool = True) -> None:
        self.views: list[str] = []  # types, one for each request that counts a view
        self.waiting: list[Route] = []  # requests for first scripts
        self.unanswered: list[Route] = []
        self.is_open = is_open
        self.answers_views = answers_views
        context.route(re.compile("^https://"), self.answer)

    def answer(self, route: Route) -> None:
        request = route.request
        found = viewed(request)
        self.views.extend(found)
        if any(request.url.startswith(one.script) for one in STAND_INS.values()) and not self.is_open:
            self.waiting.append(route)
        elif found and not self.answers_views:
            self.unanswered.append(route)
        else:
            self.give(route)

    def give(self, route: Route) -> None:
        body = script_at(route.request.url)
        if body is None:
            # a picture of one pixel, as the providers answer
            route.fulfill(status=200, body="GIF89a\x01\x00\x01\x00\x00\x00\x00;", content_type="image/gif")
        else:
            program = f"(function () {{{TOOLS}{body}}})();"
            route.fulfill(body=program, content_type="text/javascript")

    def let_come(self) -> None:
        """Answer every script request that waits, and each later one at once."""
        self.is_open = True
        self.each(self.give)

    def refuse(self) -> None:
        self.each(lambda route: route.abort())

    def close(self) -> None:
        """Abort the requests that wait: a browser does not close while one is open."""
        self.refuse()
        for route in self.unanswered:
            route.abort()

    def each(self, act: Callable[[Route], None]) -> None:
        waiting, self.waiting = self.waiting, []
        for route in waiting:
            act(route)


def viewed(request: Request) -> list[str]:
    """The provider types for which this request counts a view."""
    text = f"{request.url} {request.post_data or ''}"
    return [
        type_ for type_, one in STAND_INS.items() if re.match(one.view.replace("ID", re.escape(one.id)), text)
    ]


def script_at(url: str) -> str | None:
    for one in STAND_INS.values():
        for address, body in {one.script: one.body, **one.more}.items():
            if url.startswith(address):
                return body
    return None
