"""Spanish texts of visitors' pages."""

PAGES = {
    "not_found": (
        "Este enlace no existe",
        "Comprueba si hay errores en la dirección o pregunta a quien te lo envió.",
    ),
    "not_yet": ("Este enlace aún no está activo", "Vuelve más tarde o pregunta a quien te lo envió."),
    "expired": ("Este enlace ha caducado", "Antes llevaba a algún sitio, pero su tiempo ya pasó."),
    "limit": ("Este enlace se ha agotado", "Solo se podía abrir un número limitado de veces."),
    "password": ("Se necesita una contraseña", "Este enlace solo se abre con su contraseña."),
    "warning": ("Contenido delicado", "Es posible que el destino de este enlace no sea apto para todos."),
    "consent": (
        "Antes de continuar",
        (
            "Quien creó este enlace quiere informar a {providers} de que lo has abierto. "
            "En cualquier caso llegarás a tu destino."
        ),
    ),
    "confirmation": (
        "¿Abrir este enlace ahora?",
        "Solo se puede abrir un número limitado de veces, y cada apertura cuenta.",
    ),
    "pixels": ("Vas de camino", "Es solo un momento."),
    "app": ("Abrir en {app}", "Si no tienes la aplicación, continúa en el navegador."),
    "app_by_tap": (
        "Abrir en {app}",
        "Toca el botón para abrir la aplicación. Si no, enseguida continúas en el navegador.",
    ),
    "leads": ("Adónde lleva este enlace", "Todavía no lo has abierto y no se ha contado nada."),
    "preview": ("Un enlace", "Ábrelo en un navegador para ir a su destino."),
    "unreadable": ("Esto no se puede leer", "Abre la dirección en un navegador."),
    "unavailable": (
        "Este enlace aún no se puede abrir",
        "Inténtalo más tarde o pregunta a quien te lo envió.",
    ),
    "down": ("Algo no funciona", "No es culpa tuya. Inténtalo de nuevo en un momento."),
    "busy": ("Demasiadas solicitudes a la vez", "Inténtalo de nuevo en un momento."),
    "slow": ("Ha tardado demasiado en llegar", "Envíalo otra vez."),
    "no_host": ("Esto no se puede abrir", "La dirección de este sitio no es válida."),
    "prefetch": ("No antes de la visita", "Abre el enlace para ir allí."),
    "method": ("Esto no se puede hacer aquí", "Abre la dirección en un navegador."),
}

WORDS = {
    "password": "Contraseña",
    "open": "Abrir enlace",
    "continue": "Continuar",
    "missing": "Escribe la contraseña.",
    "wrong": "Esta contraseña no es correcta.",
    "too_many": "Ha habido demasiados intentos. Espera un rato y vuelve a probar.",
    "busy": "Mucha gente lo está abriendo a la vez. Inténtalo de nuevo en un momento.",
    "allow": "Permitir y continuar",
    "refuse": "Continuar sin permitirlo",
    "go_on": "Continuar ahora",
    "open_app": "Abrir {app}",
    "in_browser": "Continuar en el navegador",
    "and": "{all} y {last}",
}
