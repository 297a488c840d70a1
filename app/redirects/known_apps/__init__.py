"""Known apps: the addresses that each of them opens, and how it is opened.

On Android each is opened by an `intent:` address that names its package and the web address for where it is
not installed (https://developer.chrome.com/docs/android/intents).

On iOS an app's own scheme is used if one is known: documented by the app's company (the source is named
beside it), or named by the company's own web pages for the same content (`al:ios:url`, App Links), or used
unchanged by many public projects for years ("in wide use"). Otherwise the web address itself is used, as a
universal link: it opens the app only when a person taps it on a page of another site
(https://developer.apple.com/documentation/xcode/allowing-apps-and-websites-to-link-to-your-content).
"""

from __future__ import annotations

from app.redirects.known_apps.media import MEDIA
from app.redirects.known_apps.shopping import SHOPPING
from app.redirects.known_apps.social import SOCIAL
from app.redirects.known_apps.work import WORK

APPS = (*MEDIA, *SOCIAL, *SHOPPING, *WORK)
