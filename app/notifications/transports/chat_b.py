"""How does an owner name a Discord channel to deliver to?"""

from __future__ import annotations

from app.notifications.transport import Setting, Transport

TRANSPORT = Transport(
    label="Discord",
    words=("discord",),
    settings=(
        Setting(
            name="chat_b",
            label="Webhook address",
            kind="address",
            words=("discord",),
            example="https://discord.com/api/webhooks/000000000000000000/XXXXXXXXXXXXXXXX",
            guidance="In the channel's settings, open Integrations, then Webhooks; make one, copy its URL.",
        ),
    ),
)
