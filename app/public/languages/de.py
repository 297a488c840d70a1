"""German texts of visitors' pages."""

PAGES = {
    "not_found": (
        "Diesen Link gibt es nicht",
        "Prüfen Sie die Adresse auf Tippfehler, oder fragen Sie, wer ihn geschickt hat.",
    ),
    "not_yet": (
        "Dieser Link ist noch nicht aktiv",
        "Kommen Sie später wieder, oder fragen Sie, wer ihn geschickt hat.",
    ),
    "expired": (
        "Dieser Link ist abgelaufen",
        "Er hat einmal irgendwohin geführt, doch seine Zeit ist vorbei.",
    ),
    "limit": ("Dieser Link ist aufgebraucht", "Er ließ sich nur eine bestimmte Zahl von Malen öffnen."),
    "password": ("Passwort erforderlich", "Dieser Link öffnet sich nur, wenn Sie sein Passwort kennen."),
    "warning": ("Heikle Inhalte", "Wohin dieser Link führt, ist vielleicht nicht für alle geeignet."),
    "consent": (
        "Bevor es weitergeht",
        (
            "Wer diesen Link gemacht hat, möchte {providers} mitteilen, dass Sie ihn geöffnet haben. "
            "Ans Ziel kommen Sie in jedem Fall."
        ),
    ),
    "confirmation": (
        "Diesen Link jetzt öffnen?",
        "Er lässt sich nur eine bestimmte Zahl von Malen öffnen, und jedes Mal zählt.",
    ),
    "pixels": ("Sie werden weitergeleitet", "Das dauert nur einen Moment."),
    "app": ("In {app} öffnen", "Wenn Sie die App nicht haben, geht es im Browser weiter."),
    "app_by_tap": (
        "In {app} öffnen",
        "Tippen Sie für die App auf die Schaltfläche. Sonst geht es gleich im Browser weiter.",
    ),
    "leads": (
        "Wohin dieser Link führt",
        "Sie haben ihn noch nicht geöffnet, und gezählt wurde auch nichts.",
    ),
    "preview": ("Ein Link", "Öffnen Sie ihn im Browser, um ans Ziel zu kommen."),
    "unreadable": ("Das lässt sich nicht lesen", "Öffnen Sie die Adresse im Browser."),
    "unavailable": (
        "Dieser Link lässt sich noch nicht öffnen",
        "Versuchen Sie es später, oder fragen Sie, wer ihn geschickt hat.",
    ),
    "down": (
        "Etwas funktioniert gerade nicht",
        "Es liegt nicht an Ihnen. Bitte versuchen Sie es gleich noch einmal.",
    ),
    "busy": ("Zu viele Anfragen auf einmal", "Bitte versuchen Sie es gleich noch einmal."),
    "slow": ("Das hat zu lange gedauert", "Bitte senden Sie es noch einmal."),
    "no_host": ("Das lässt sich nicht öffnen", "Die Adresse dieser Seite ist ungültig."),
    "prefetch": ("Nicht vor dem Besuch", "Öffnen Sie den Link, um hinzugelangen."),
    "method": ("Das geht hier nicht", "Öffnen Sie die Adresse im Browser."),
}

WORDS = {
    "password": "Passwort",
    "open": "Link öffnen",
    "continue": "Weiter",
    "missing": "Bitte geben Sie das Passwort ein.",
    "wrong": "Dieses Passwort stimmt nicht.",
    "too_many": "Das waren zu viele Versuche. Bitte warten Sie eine Weile und versuchen Sie es dann wieder.",
    "busy": "Gerade öffnen das viele zugleich. Bitte versuchen Sie es gleich noch einmal.",
    "allow": "Erlauben und weiter",
    "refuse": "Ohne das weiter",
    "go_on": "Jetzt weiter",
    "open_app": "{app} öffnen",
    "in_browser": "Im Browser weiter",
    "and": "{all} und {last}",
}
