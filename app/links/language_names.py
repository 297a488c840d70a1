"""Names of languages, by their BCP 47 tags."""

from __future__ import annotations

LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da": "Danish",
    "de": "German", "de-AT": "German (Austria)", "de-CH": "German (Switzerland)", "el": "Greek",
    "en": "English", "en-GB": "English (United Kingdom)", "en-US": "English (United States)",
    "es": "Spanish", "es-MX": "Spanish (Mexico)", "et": "Estonian", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "fr-CA": "French (Canada)", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian",
    "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "lt": "Lithuanian", "lv": "Latvian", "ms": "Malay", "nb": "Norwegian Bokmål", "nl": "Dutch",
    "pl": "Polish", "pt": "Portuguese", "pt-BR": "Portuguese (Brazil)", "ro": "Romanian", "ru": "Russian",
    "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "ta": "Tamil", "te": "Telugu",
    "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
    "zh-TW": "Chinese (Taiwan)",
}  # fmt: skip


def describe_language(tag: str) -> str:
    """`German (de-LI)`; the tag alone where the language has no word here."""
    word = LANGUAGES.get(tag) or LANGUAGES.get(tag.partition("-")[0].lower())
    return f"{word} ({tag})" if word and tag not in LANGUAGES else word or tag
