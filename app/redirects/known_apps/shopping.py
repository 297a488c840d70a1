"""Known apps of shops, payments and travel. Prime Video comes before Amazon, whose hosts it shares."""

from __future__ import annotations

import re

from app.redirects.known_apps.app import UNIVERSAL, App, but, one_of

# Companies with a domain in each country: the endings that they own. `amazon.cm` may be a stranger's.
AMAZON = one_of(
    "com ca com.mx com.br co.uk de fr it es nl se pl com.be ie com.tr ae sa eg in co.jp com.au sg cn co.za"
)
AIRBNB = one_of(
    "com at be ca ch cl cz de dk es fi fr gr hu ie is it jp mx nl no pl pt ru se co.cr co.id co.il "
    "co.in co.kr co.nz co.uk co.ve com.ar com.au com.bo com.br com.co com.ec com.gt com.hk com.hn "
    "com.mt com.my com.ni com.pa com.pe com.py com.sg com.sv com.tr com.tw"
)
EBAY = one_of("com co.uk de fr it es com.au ca at ch be nl ie pl com.hk com.sg com.my ph")
TRIPADVISOR = one_of(
    "com co.uk ca de fr it es nl at ch be ie se dk pt ru jp in cl co com.au co.nz com.sg com.my com.ph "
    "com.br com.mx com.ar com.tr com.tw com.hk com.vn com.gr com.eg co.id co.il co.kr co.za"
)
# Shopee has an app for each country, named by it
SHOPEE = {
    "sg": "sg", "com.my": "my", "co.th": "th", "tw": "tw", "co.id": "id", "vn": "vn", "ph": "ph",
    "com.br": "br", "com.mx": "mx", "com.co": "co", "cl": "cl",
}  # fmt: skip

SHOPPING = (
    App(
        "Prime Video",
        rf"(?:(?:www|m)\.)?amazon\.{AMAZON}",
        "com.amazon.avod.thirdpartyclient",
        ((r"/(?:-/[a-z]{2}/)?gp/video/.+", UNIVERSAL),),
    ),
    App(
        "Prime Video",
        r"(?:(?:www|app|watch)\.)?primevideo\.com",
        "com.amazon.avod.thirdpartyclient",
        ((r"/(?:-/[a-z]{2}/)?(?:region/[a-z]{2}/)?(?:detail|watch)[/?].+", UNIVERSAL),),
    ),
    App(
        "Amazon",
        rf"(?:(?:www|m)\.)?amazon\.{AMAZON}",
        "com.amazon.mShop.android.shopping",
        (
            (
                r"/(?:.+/)?(?:dp|gp/product|gp/aw/d)/[A-Za-z0-9]{10}(?:[/?].*)?|/(?:s\?|s/|stores/|shop/|hz/).+",
                UNIVERSAL,
            ),
        ),
    ),
    App("Amazon", r"amzn\.(?:to|eu|asia)|a\.co", "com.amazon.mShop.android.shopping"),
    App(
        "Airbnb",
        rf"(?:(?:www|[a-z]{{2}})\.)?airbnb\.{AIRBNB}|abnb\.me",
        "com.airbnb.android",
        ((rf"/{but('help|press|terms|careers|login')}.+", UNIVERSAL),),
    ),
    App(
        "App Store",
        r"(?:apps|itunes)\.apple\.com",
        None,
        # Apple's Technical Q&A QA1629, "Launching the App Store from an iOS app"
        ((r"/(?:[a-z]{2}/)?app/.+", "itms-apps://{rest}"),),
    ),
    App(
        "Play Store",
        r"play\.google\.com",
        "com.android.vending",
        ((r"/store/(?:apps|books|movies)?.+", None),),
    ),
    App(
        "Etsy",
        r"(?:www\.)?etsy\.com",
        "com.etsy.android",
        (
            # App Links of its pages
            (r"/(?:[a-z]{2}(?:-[a-z]{2})?/)?listing/(?P<id>[0-9]+)(?:[/?].*)?", "etsy://listing/{id}"),
            (r"/(?:[a-z]{2}(?:-[a-z]{2})?/)?shop/.+", UNIVERSAL),
        ),
    ),
    App("Etsy", r"etsy\.me", "com.etsy.android"),
    App(
        "eBay",
        rf"(?:(?:www|m)\.)?ebay\.{EBAY}",
        "com.ebay.mobile",
        (
            # in eBay's public code for campaigns, https://github.com/eBay
            (r"/itm/(?:[^/?]+/)?(?P<id>[0-9]{9,14})(?:[/?].*)?", "ebay://link/?nav=item.view&id={id}"),
            (r"/(?:itm|usr|str|sch|b|p)/.+", UNIVERSAL),
        ),
    ),
    App("eBay", r"ebay\.us", "com.ebay.mobile"),
    App(
        "Walmart",
        r"(?:www\.)?walmart\.com",
        "com.walmart.android",
        ((r"/(?:ip|browse|cp|search|store)[/?].+", UNIVERSAL),),
    ),
    App(
        "Booking.com",
        r"(?:(?:www|m)\.)?booking\.com",
        "com.booking",
        ((r"/(?:hotel/|city/|searchresults|Share-).+", UNIVERSAL),),
    ),
    App(
        "Tripadvisor",
        rf"(?:(?:www|m)\.)?tripadvisor\.{TRIPADVISOR}",
        "com.tripadvisor.tripadvisor",
        # App Links of its pages
        (
            (
                r"/(?:[A-Za-z]+_Review|AttractionProductReview|Tourism|Hotels|Restaurants|Attractions)-.+",
                "tripadvisor://{rest}",
            ),
        ),
    ),
    *(
        App(
            "Shopee",
            rf"(?:s\.)?shopee\.{re.escape(ending)}",
            f"com.shopee.{country}",
            ((r"/(?:product/|shop/|universal-link/|[^/?]+-i\.[0-9]|[A-Za-z0-9]{8,}).*", UNIVERSAL),),
        )
        for ending, country in SHOPEE.items()
    ),
    App("PayPal", r"(?:www\.)?paypal\.me", "com.paypal.android.p2pmobile"),
    App(
        "PayPal",
        r"(?:www\.)?paypal\.com",
        "com.paypal.android.p2pmobile",
        ((r"/(?:[a-z]{2}/)?(?:paypalme|qrcodes|pools)/.+", UNIVERSAL),),
    ),
)
