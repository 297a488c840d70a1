"""How does an owner name a Telegram chat to deliver to?"""

from __future__ import annotations

from app.notifications.transport import Setting, Transport

TRANSPORT = Transport(
    label="Telegram",
    words=("telegram",),
    settings=(
        Setting(
            name="chat_c",
            label="Bot token",
            kind="token",
            words=("telegram",),
            example="123456789:AAExampleExampleExampleExampleExampl",
            guidance="Write /newbot to @BotFather; it answers with the token of your bot.",
            is_secret=True,
        ),
        Setting(
            name="chat_c_chat_id",
            label="Chat",
            kind="chat",
            words=("telegram_chat_id",),
            example="-1001234567890",
            guidance="Add the bot to the chat; its id is a number, negative for a group, or @name.",
        ),
    ),
)
