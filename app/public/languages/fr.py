"""French texts of visitors' pages."""

PAGES = {
    "not_found": (
        "Ce lien n’existe pas",
        "Vérifiez l’adresse, ou demandez à la personne qui vous l’a envoyé.",
    ),
    "not_yet": (
        "Ce lien n’est pas encore actif",
        "Revenez plus tard, ou demandez à la personne qui vous l’a envoyé.",
    ),
    "expired": ("Ce lien a expiré", "Il menait quelque part, mais son temps est écoulé."),
    "limit": ("Ce lien est épuisé", "Il ne pouvait être ouvert qu’un certain nombre de fois."),
    "password": ("Mot de passe requis", "Ce lien ne s’ouvre qu’avec son mot de passe."),
    "warning": ("Contenu sensible", "La page où mène ce lien peut ne pas convenir à tout le monde."),
    "consent": (
        "Avant de continuer",
        (
            "La personne qui a créé ce lien souhaite faire savoir à {providers} que vous l’avez ouvert. "
            "Dans tous les cas, vous arriverez à destination."
        ),
    ),
    "confirmation": (
        "Ouvrir ce lien maintenant ?",
        "Il ne peut être ouvert qu’un certain nombre de fois, et chaque ouverture compte.",
    ),
    "pixels": ("Vous êtes en route", "Cela ne prend qu’un instant."),
    "app": ("Ouvrir dans {app}", "Si vous n’avez pas l’application, continuez dans le navigateur."),
    "app_by_tap": (
        "Ouvrir dans {app}",
        "Touchez le bouton pour ouvrir l’application. Sinon, vous continuez bientôt dans le navigateur.",
    ),
    "leads": ("Où mène ce lien", "Vous ne l’avez pas encore ouvert, et rien n’a été compté."),
    "preview": ("Un lien", "Ouvrez-le dans un navigateur pour voir où il mène."),
    "unreadable": ("Ceci est illisible", "Ouvrez l’adresse dans un navigateur."),
    "unavailable": (
        "Ce lien ne peut pas encore être ouvert",
        "Réessayez plus tard, ou demandez à la personne qui vous l’a envoyé.",
    ),
    "down": (
        "Quelque chose ne fonctionne pas",
        "Vous n’y êtes pour rien. Réessayez dans un instant.",
    ),
    "busy": ("Trop de demandes à la fois", "Réessayez dans un instant."),
    "slow": ("L’envoi a pris trop de temps", "Veuillez l’envoyer de nouveau."),
    "no_host": ("Ceci ne peut pas être ouvert", "L’adresse de ce site n’est pas valide."),
    "prefetch": ("Pas avant la visite", "Ouvrez le lien pour y aller."),
    "method": ("Ce n’est pas possible ici", "Ouvrez l’adresse dans un navigateur."),
}

WORDS = {
    "password": "Mot de passe",
    "open": "Ouvrir le lien",
    "continue": "Continuer",
    "missing": "Veuillez saisir le mot de passe.",
    "wrong": "Ce mot de passe n’est pas le bon.",
    "too_many": "Trop de tentatives. Patientez un moment, puis réessayez.",
    "busy": "Beaucoup de monde ouvre ce lien en même temps. Réessayez dans un instant.",
    "allow": "Accepter et continuer",
    "refuse": "Continuer sans accepter",
    "go_on": "Continuer maintenant",
    "open_app": "Ouvrir {app}",
    "in_browser": "Continuer dans le navigateur",
    "and": "{all} et {last}",
}
