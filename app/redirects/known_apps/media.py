"""Known apps of video and music."""

from __future__ import annotations

from app.redirects.known_apps.app import ANY, END, NAME, UNIVERSAL, App, but

MEDIA = (
    App(
        "YouTube",
        r"(?:www\.|m\.)?youtube\.com",
        "com.google.android.youtube",
        # App Links of its pages
        (
            (
                r"/(?:watch\?|playlist\?|shorts/|live/|channel/|c/|user/|@|post/|clip/).+",
                "vnd.youtube://www.youtube.com{target}",
            ),
        ),
    ),
    App(
        "YouTube",
        r"youtu\.be",
        "com.google.android.youtube",
        (
            (
                r"/(?P<id>[A-Za-z0-9_-]+)\?(?P<query>.+)",
                "vnd.youtube://www.youtube.com/watch?v={id}&{query}",
            ),
            (r"/(?P<id>[A-Za-z0-9_-]+)/?", "vnd.youtube://www.youtube.com/watch?v={id}"),
            (ANY, UNIVERSAL),
        ),
    ),
    App(
        "YouTube Music",
        r"music\.youtube\.com",
        "com.google.android.apps.youtube.music",
        ((r"/(?:watch\?|playlist\?|channel/|browse/|@).+", UNIVERSAL),),
    ),
    App(
        "Spotify",
        r"open\.spotify\.com",
        "com.spotify.music",
        (
            (
                # https://developer.spotify.com/documentation/ios/tutorials/content-linking
                r"/(?:intl-[a-z-]+/)?(?P<kind>track|album|artist|playlist|show|episode)/(?P<id>[A-Za-z0-9]{22})"
                + END,
                "spotify:{kind}:{id}",
            ),
            (ANY, UNIVERSAL),
        ),
    ),
    App("Spotify", r"spotify\.link", "com.spotify.music"),
    App(
        "SoundCloud",
        r"(?:(?:www|m|on)\.)?soundcloud\.com",
        "com.soundcloud.android",
        ((rf"/{but('pages|terms-of-use|upload|signin|settings')}.+", UNIVERSAL),),
    ),
    App(
        "Netflix",
        r"(?:www\.)?netflix\.com",
        "com.netflix.mediaclient",
        (
            # App Links of its pages
            (
                r"/(?:[a-z]{2}(?:-[a-z]{2})?/)?(?P<kind>title|watch)/(?P<id>[0-9]+)(?:[/?].*)?",
                "nflx://www.netflix.com/{kind}/{id}",
            ),
        ),
    ),
    App(
        "Twitch",
        r"(?:(?:www|m)\.)?twitch\.tv",
        "tv.twitch.android.app",
        (
            # https://dev.twitch.tv/docs/mobile-deeplinks
            (
                rf"/{but('videos|directory|downloads|p|jobs|store|turbo|settings|login|signup|search')}{NAME}{END}",
                "twitch://stream/{name}",
            ),
            (r"/(?:videos/|directory|[A-Za-z0-9_]+/(?:clip|v|video)/).*", UNIVERSAL),
        ),
    ),
    App("Twitch", r"clips\.twitch\.tv", "tv.twitch.android.app"),
    App("Apple Music", r"(?:geo\.)?music\.apple\.com", "com.apple.android.music"),
    App(
        "Apple Podcasts",
        r"podcasts\.apple\.com",
        None,
        ((r"/(?:[a-z]{2}/)?(?:podcast|channel)/.+", UNIVERSAL),),
    ),
    App(
        "Vimeo",
        r"(?:www\.)?vimeo\.com",
        "com.vimeo.android.videoapp",
        (
            # App Links of its pages
            (r"/(?P<id>[0-9]+)" + END, "vimeo://app.vimeo.com/videos/{id}"),
            (r"/(?:[0-9]+/|channels/|groups/|showcase/|ondemand/|user[0-9]).+", UNIVERSAL),
        ),
    ),
    App(
        "Deezer",
        r"(?:www\.)?deezer\.com",
        "deezer.android.app",
        (
            # the addresses that its pages open, as for an account's plan
            (
                r"/(?:[a-z]{2}/)?(?P<path>(?:track|album|artist|playlist|show|episode)/[0-9]+)" + END,
                "deezer://www.deezer.com/{path}",
            ),
            (r"/(?:[a-z]{2}/)?(?:profile|channels)/.+", UNIVERSAL),
        ),
    ),
    App("Deezer", r"link\.deezer\.com|deezer\.page\.link", "deezer.android.app"),
    App(
        "TIDAL",
        r"(?:(?:www|listen)\.)?tidal\.com",
        "com.aspiro.tidal",
        ((r"/(?:browse/)?(?:track|album|artist|playlist|video|mix)/.+", UNIVERSAL),),
    ),
    App(
        "Disney+",
        r"(?:www\.)?disneyplus\.com",
        "com.disney.disneyplus",
        (
            (
                r"/(?:[a-z]{2}(?:-[a-z0-9]{2,3})?/)?(?:movies/|series/|video/|play/|sharing/|browse/entity-).+",
                UNIVERSAL,
            ),
        ),
    ),
)
