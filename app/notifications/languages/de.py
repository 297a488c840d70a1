"""German texts of messages."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "{name} has reached its click limit": "{name} hat sein Klick-Limit erreicht",
    "All {clicks_limit} clicks are used up.": "Alle {clicks_limit} Klicks sind aufgebraucht.",
    "{name} is active now": "{name} ist jetzt aktiv",
    "Its start date has come.": "Sein Beginn ist gekommen.",
    "{name} has ended": "{name} ist zu Ende",
    "Its end date has come.": "Sein Ende ist gekommen.",
    "The destination of {name} fails": "Das Ziel von {name} ist nicht erreichbar",
    "Three checks in a row have failed: {reason}": "Drei Prüfungen nacheinander schlugen fehl: {reason}",
    "The destination of {name} works again": "Das Ziel von {name} ist wieder erreichbar",
    "It failed since {failing_since} UTC.": "Nicht erreichbar war es seit {failing_since} UTC.",
    "A test from Waypost": "Ein Test von Waypost",
    "It works: what {handler} is told arrives here.": "Es geht: Was {handler} erfährt, kommt hier an.",
    "Short address": "Kurzadresse",
    "Destination": "Ziel",
    "Clicks": "Klicks",
    "Daily report": "Tagesbericht",
    "Weekly report": "Wochenbericht",
    "Monthly report": "Monatsbericht",
    "{title}: {visits} of {what}": "{title}: {visits} von {what}",
    "{number} visit": "{number} Besuch",
    "{number} visits": "{number} Besuche",
    "{number} links": "{number} Links",
    "Visits": "Besuche",
    "People": "Personen",
    "Change": "Veränderung",
    "Best day": "Bester Tag",
    "none the time before": "keine in der Zeit davor",
    "{change} % ({before} the time before)": "{change} % ({before} in der Zeit davor)",
    "{first} to {last}": "{first} bis {last}",
    "Referrers": "Verweise",
    "Countries": "Länder",
    "Devices": "Geräte",
    "Browsers": "Browser",
    "Systems": "Systeme",
    "Unknown": "Unbekannt",
    "Direct or unknown": "Direkt oder unbekannt",
    "Desktop": "Computer",
    "Mobile": "Telefon",
    "Tablet": "Tablet",
    "Day by day": "Tag für Tag",
    "And {count} more links.": "Und {count} weitere Links.",
    "And one more link.": "Und ein weiterer Link.",
    "See it in Waypost": "In Waypost ansehen",
    "Visits a day:": "Besuche am Tag:",
    "Have no more of these mails": "Keine solchen Mails mehr",
    "Sent to {to} by Waypost, {note}": "Von Waypost an {to} gesendet, {note}",
    "because somebody here asked for it.": "weil jemand hier darum gebeten hat.",
    "because it is about your account.": "weil es um dein Konto geht.",
    "An import has failed": "Ein Import ist gescheitert",
    "The import of {name} ended after {rows} rows.": "Der Import von {name} endete nach {rows} Zeilen.",
    "Links that were made stay. The import's page says what to do.": (
        "Angelegte Links bleiben. Die Seite des Imports sagt, was zu tun ist."
    ),
    "See the import": "Import ansehen",
    "because somebody entered this address.": "weil jemand diese Adresse eingetragen hat.",
    "Confirm your e-mail address": "Bestätige deine E-Mail-Adresse",
    "Somebody wants to have reports about short links sent to this address.": (
        "Jemand möchte Berichte über Kurzlinks an diese Adresse schicken lassen."
    ),
    "Confirm it by the link below within seven days, if you want to get them.": (
        "Bestätige sie innerhalb von sieben Tagen über den Link unten, wenn du sie bekommen möchtest."
    ),
    "If not, there is nothing to do: nothing else is sent to you.": (
        "Wenn nicht, ist nichts zu tun: Du bekommst sonst nichts."
    ),
    "Confirm the address": "Adresse bestätigen",
    "A new password for Waypost": "Ein neues Passwort für Waypost",
    "Somebody asked for a new password for your account.": (
        "Jemand hat ein neues Passwort für dein Konto angefordert."
    ),
    "Choose one by the address below within an hour.": (
        "Wähl innerhalb einer Stunde eines unter der Adresse unten."
    ),
    "If this was not you, there is nothing to do: your password stays as it is.": (
        "Wenn du das nicht warst, ist nichts zu tun: Dein Passwort bleibt, wie es ist."
    ),
    "Choose a new password": "Neues Passwort wählen",
    "See your account": "Dein Konto ansehen",
    "If this was not you, set a new password, and look through the sessions in your account.": (
        "Wenn du das nicht warst, setz ein neues Passwort, und sieh im Konto nach, wo du angemeldet bist."
    ),
    "Two-factor authentication is on": "Die Zwei-Faktor-Anmeldung ist an",
    "From now on a code of your authenticator app is asked for when somebody signs in.": (
        "Von jetzt an wird bei jeder Anmeldung nach einem Code deiner Authenticator-App gefragt."
    ),
    "Two-factor authentication is off": "Die Zwei-Faktor-Anmeldung ist aus",
    "From now on your password alone opens your account.": (
        "Von jetzt an öffnet dein Passwort allein dein Konto."
    ),
    "Whoever runs this Waypost has switched it off, and signed you out everywhere.": (
        "Wer dieses Waypost betreibt, hat sie ausgeschaltet und dich überall abgemeldet."
    ),
    "If you did not ask for this, talk to them, and set a new password.": (
        "Wenn du nicht darum gebeten hast, sprich mit ihnen, und setz ein neues Passwort."
    ),
    "A recovery code was used": "Ein Wiederherstellungscode wurde benutzt",
    "Somebody signed in with one of your recovery codes. Codes left: {left}.": (
        "Jemand hat sich mit einem deiner Wiederherstellungscodes angemeldet. Übrige Codes: {left}."
    ),
    "Your account has a new password": "Dein Konto hat ein neues Passwort",
    "Your account has a new password, and every other session has ended.": (
        "Dein Konto hat ein neues Passwort, und jede andere Sitzung ist beendet."
    ),
    "Your API keys go on working.": "Deine API-Schlüssel gelten weiter.",
    "API keys that were revoked with it: {count}.": "Damit widerrufene API-Schlüssel: {count}.",
    "If this was not you, choose another one at once by “Forgotten password?”.": (
        "Wenn du das nicht warst, wähl über „Passwort vergessen?“ sofort ein anderes."
    ),
    "Your account has another e-mail address": "Dein Konto hat eine andere E-Mail-Adresse",
    "From now on {email} signs in to your account, and mails go there.": (
        "Von jetzt an meldet sich {email} in deinem Konto an, und E-Mails gehen dorthin."
    ),
    "If this was not you, tell whoever runs this Waypost at once.": (
        "Wenn du das nicht warst, sag es sofort dem, der dieses Waypost betreibt."
    ),
    "which keeps this address as a place to be told at.": "das unter dieser Adresse Bescheid geben soll.",
}
