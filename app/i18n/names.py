"""Names that are the same in every language, or that only programs read."""

from __future__ import annotations

SINGLE = """
    Waypost Berlin Windows Firefox Safari Mac Android Chrome Edge Linux Opera Slack Discord Telegram Webhook
    LinkedIn Pinterest Quora TikTok Snapchat English Deutsch https:// curl Cc Cs Lax Origin Bearer Allow
    Strict Refresh Python SQLite PostgreSQL Flask SQLAlchemy Granian
    Rejected Row Table Subject Date Part Good Warning Attention Default Large Bolder Small Full Medium Column
"""
NAMES = frozenset(SINGLE.split()) | {
    "Berlin, DE",
    "Chrome OS",
    "Google Analytics",
    "Google Tag Manager",
    "Meta (Facebook)",
    "Microsoft Teams",
    "Samsung Internet",
    "X (Twitter)",
    "· Waypost",
}
