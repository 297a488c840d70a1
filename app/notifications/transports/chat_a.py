"""How does an owner name a Slack channel to deliver to?"""

from __future__ import annotations

from app.notifications.transport import Setting, Transport

TRANSPORT = Transport(
    label="Slack",
    words=("slack",),
    settings=(
        Setting(
            name="chat_a",
            label="Webhook address",
            kind="address",
            words=("slack",),
            example="https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
            guidance="In your Slack app, open Incoming Webhooks, add one to the channel and copy its URL.",
        ),
    ),
)
