"""How does an owner name a server of his own to deliver to, and how can that tell our calls from others'?"""

from __future__ import annotations

import base64
import secrets

from app.notifications.transport import Setting, Transport


def new_secret() -> str:
    """A signing secret as Standard Webhooks has it: 24 to 64 random bytes in base64 after `whsec_`."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode("ascii")


TRANSPORT = Transport(
    label="Webhook",
    settings=(
        Setting(
            name="webhook",
            label="Address",
            kind="address",
            example="https://example.com/hooks/waypost",
            guidance="Receives a signed POST with JSON. Any library of Standard Webhooks verifies it.",
        ),
    ),
    makes={"secret": new_secret},
)
