"""English texts of visitors' pages. Every other language has the same keys."""

# a title, and a sentence for visitors who do not know Waypost
PAGES = {
    "not_found": ("This link does not exist", "Check the address for typing errors, or ask whoever sent it."),
    "not_yet": ("This link is not active yet", "Come back later, or ask whoever sent it."),
    "expired": ("This link has expired", "It led somewhere once, but its time is over."),
    "limit": ("This link has been used up", "It could be opened only so many times."),
    "password": ("A password is needed", "This link opens only for those who know its password."),
    "warning": ("Sensitive content", "What this link leads to may not be suitable for everyone."),
    "consent": (
        "Before you go on",
        (
            "Whoever made this link would like to let {providers} know that you opened it. "
            "Either way you get where it leads."
        ),
    ),
    "confirmation": ("Open this link now?", "It can be opened only so many times, and each time counts."),
    "pixels": ("You are on your way", "This takes only a moment."),
    "app": ("Open in {app}", "If you do not have the app, go on in the browser."),
    "app_by_tap": (
        "Open in {app}",
        "Tap the button for the app. Otherwise you go on in the browser in a moment.",
    ),
    "leads": ("Where this link leads", "You have not opened it yet, and nothing was counted."),
    "preview": ("A link", "Open it in a browser to go where it leads."),
    "unreadable": ("This can’t be read", "Open the address in a browser."),
    "unavailable": ("This link can’t be opened yet", "Try again later, or ask whoever sent it."),
    "down": ("Something is not working", "This is not your fault. Please try again in a moment."),
    "busy": ("Too many requests at once", "Please try again in a moment."),
    "slow": ("This took too long to arrive", "Please send it once more."),
    "no_host": ("This can’t be opened", "The address of this site is not valid."),
    "prefetch": ("Not ahead of the visit", "Open the link to go there."),
    "method": ("This can’t be done here", "Open the address in a browser."),
}

# the other texts: labels, buttons, and why a gate refuses a form
WORDS = {
    "password": "Password",
    "open": "Open link",
    "continue": "Continue",
    "missing": "Please enter the password.",
    "wrong": "This password is not right.",
    "too_many": "There were too many tries. Please wait a while, then try again.",
    "busy": "Many people are opening this at once. Please try again in a moment.",
    "allow": "Allow, and go on",
    "refuse": "Go on without it",
    "go_on": "Go on now",
    "open_app": "Open {app}",
    "in_browser": "Go on in the browser",
    "and": "{all} and {last}",
}
