"""How does an owner name an e-mail address to deliver to?"""

from __future__ import annotations

from app.notifications.transport import Setting, Transport

TRANSPORT = Transport(
    label="E-mail",
    settings=(
        Setting(
            name="email",
            label="E-mail address",
            kind="email",
            example="team@example.com",
            guidance="Where reports and events are mailed to.",
        ),
    ),
)
