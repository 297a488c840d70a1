"""Detection of host names that look like one another."""

from __future__ import annotations

import unicodedata

import regex

# Scripts in everyday use, each by itself, and combinations that are used together (UTS #39, UAX #31)
SCRIPTS = """
    Latin Cyrillic Greek Armenian Hebrew Arabic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu
    Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Ethiopic Khmer Thaana Han+Hiragana+Katakana
    Han+Hangul Han+Bopomofo
"""


def written_in(scripts: str) -> str:
    allowed = "".join(rf"\p{{Script={script}}}" for script in scripts.split("+"))
    return rf"[{allowed}\p{{Script=Common}}\p{{Script=Inherited}}]+"


OF_ONE_SCRIPT = regex.compile("|".join(map(written_in, SCRIPTS.split())))
# letters of other scripts that look like Latin ones: a label of these alone is read as a Latin one
LOOK_LATIN = regex.compile(r"(?=.*\p{L})[аъьсԁеіјӏһорԛѕѵѡԝхуүпгҽαικνρυωηοτցհոսօյզգ\-\p{Nd}]+")
# Latin letters and what looks like them, in lower case, without accents. Sources: the confusables of Unicode
# for Cyrillic, Greek and Armenian (UTS #39), and what the spoof checker of Chromium adds to them.
LIKE = {
    "a": "аαɑ", "b": "ьвƅъβ", "c": "сϲҫ", "d": "ԁժԃ", "e": "еҽєɛε", "f": "ғӻք", "g": "ɡցԍգ",
    "h": "һհнћңҥӈӊԋԧԩħ", "i": "іıιɩ", "j": "јյ", "k": "кκқҝҟҡӄԟĸ", "l": "ӏ1ł|", "m": "м",
    "n": "пηոռԥŋ", "o": "оοσօ0øө", "p": "рρҏϼ", "q": "ԛզգ", "r": "гґ", "s": "ѕ", "t": "тτҭԏŧ",
    "u": "սυμцʋ", "v": "ѵν", "w": "ԝѡωшщա", "x": "хχҳӽӿ", "y": "уγүұʏ", "z": "ʐ",
    "3": "зҙӡʒ", "4": "ч", "6": "б", "ae": "æӕ", "oe": "œ", "ss": "ß", "lo": "ю",
}  # fmt: skip
AS_LATIN = str.maketrans({foreign: latin for latin, all_like in LIKE.items() for foreign in all_like})
# applied after that: two letters that look like one
TOGETHER = (("rn", "m"), ("vv", "w"), ("cl", "d"))


def is_look_alike(name: str) -> bool:
    """Whether a label mixes scripts, or consists of foreign letters that all look like Latin ones.

    The latter counts only under a Latin top-level domain: under `рф` readers expect Cyrillic.
    """
    labels = name.split(".")
    if not all(OF_ONE_SCRIPT.fullmatch(label) for label in labels):
        return True
    return labels[-1].isascii() and any(
        not label.isascii() and LOOK_LATIN.fullmatch(label) for label in labels[:-1]
    )


def looks(name: str) -> str:
    """The skeleton of a name as people read it: like that of UTS #39, but coarser."""
    plain = "".join(
        letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter)
    )
    seen = plain.casefold().translate(AS_LATIN)
    for two, one in TOGETHER:
        seen = seen.replace(two, one)
    return seen
