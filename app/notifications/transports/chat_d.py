"""How does an owner name a Microsoft Teams channel to deliver to?"""

from __future__ import annotations

from app.notifications.transport import Setting, Transport

TRANSPORT = Transport(
    label="Microsoft Teams",
    words=("microsoft_teams",),
    settings=(
        Setting(
            name="chat_d",
            label="Workflow address",
            kind="address",
            words=("microsoft_teams",),
            example="https://example.westeurope.logic.azure.com/workflows/0000/triggers/manual/paths/invoke",
            guidance="In the channel's menu, open Workflows, choose the one that posts when a webhook request"
            " is received, and copy its URL.",
        ),
    ),
)
