"""Which names would a quick eye take for one another?"""

from __future__ import annotations

import unicodedata

import regex

# Scripts in everyday use, each by itself, and those that are written together (UTS #39, UAX #31)
SCRIPTS = """
    Latin Cyrillic Greek Armenian Hebrew Arabic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu
    Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Ethiopic Khmer Thaana Han+Hiragana+Katakana
    Han+Hangul Han+Bopomofo
"""


def written_in(scripts: str) -> str:
    allowed = "".join(rf"\p{{Script={script}}}" for script in scripts.split("+"))
    return rf"[{allowed}\p{{Script=Common}}\p{{Script=Inherited}}]+"


OF_ONE_SCRIPT = regex.compile("|".join(map(written_in, SCRIPTS.split())))
# letters of other scripts that look like Latin ones: a label of these alone is read as another one
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
# after that: two letters that look like one
TOGETHER = (("rn", "m"), ("vv", "w"), ("cl", "d"))


def is_look_alike(name: str) -> bool:
    """Does a label mix scripts, or is it of foreign letters that all look like Latin ones?

    The latter only under a Latin top level: under `рф` nobody takes Cyrillic for anything else.
    """
    labels = name.split(".")
    if not all(OF_ONE_SCRIPT.fullmatch(label) for label in labels):
        return True
    return labels[-1].isascii() and any(
        not label.isascii() and LOOK_LATIN.fullmatch(label) for label in labels[:-1]
    )


def looks(name: str) -> str:
    """What is left at a glance of a name as people read it: the skeleton of UTS #39, coarser."""
    plain = "".join(
        letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter)
    )
    seen = plain.casefold().translate(AS_LATIN)
    for two, one in TOGETHER:
        seen = seen.replace(two, one)
    return seen
