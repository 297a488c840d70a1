"""Portuguese texts of visitors' pages."""

PAGES = {
    "not_found": (
        "Este link não existe",
        "Verifique se há erros no endereço ou pergunte a quem o enviou.",
    ),
    "not_yet": ("Este link ainda não está ativo", "Volte mais tarde ou pergunte a quem o enviou."),
    "expired": ("Este link expirou", "Ele já levou a algum lugar, mas seu tempo acabou."),
    "limit": ("Este link se esgotou", "Só podia ser aberto um número limitado de vezes."),
    "password": ("É necessária uma senha", "Este link só abre para quem conhece a senha."),
    "warning": ("Conteúdo sensível", "O destino deste link pode não ser adequado para todos."),
    "consent": (
        "Antes de continuar",
        (
            "Quem criou este link gostaria de informar {providers} de que você o abriu. "
            "De qualquer forma, você chegará ao destino."
        ),
    ),
    "confirmation": (
        "Abrir este link agora?",
        "Só pode ser aberto um número limitado de vezes, e cada abertura conta.",
    ),
    "pixels": ("Você está a caminho", "É só um momento."),
    "app": ("Abrir em {app}", "Se não tiver o aplicativo, continue no navegador."),
    "app_by_tap": (
        "Abrir em {app}",
        "Toque no botão para abrir o aplicativo. Senão, você continua em instantes no navegador.",
    ),
    "leads": ("Aonde leva este link", "Você ainda não o abriu e nada foi contado."),
    "preview": ("Um link", "Abra-o em um navegador para ir ao destino."),
    "unreadable": ("Não foi possível ler isto", "Abra o endereço em um navegador."),
    "unavailable": (
        "Este link ainda não pode ser aberto",
        "Tente mais tarde ou pergunte a quem o enviou.",
    ),
    "down": ("Algo não está funcionando", "A culpa não é sua. Tente novamente daqui a pouco."),
    "busy": ("Muitas solicitações ao mesmo tempo", "Tente novamente daqui a pouco."),
    "slow": ("O envio demorou demais", "Envie mais uma vez."),
    "no_host": ("Não foi possível abrir isto", "O endereço deste site não é válido."),
    "prefetch": ("Não antes da visita", "Abra o link para ir até lá."),
    "method": ("Isto não pode ser feito aqui", "Abra o endereço em um navegador."),
}

WORDS = {
    "password": "Senha",
    "open": "Abrir link",
    "continue": "Continuar",
    "missing": "Digite a senha.",
    "wrong": "Esta senha não está correta.",
    "too_many": "Houve tentativas demais. Espere um pouco e tente novamente.",
    "busy": "Muitas pessoas estão abrindo isto ao mesmo tempo. Tente novamente daqui a pouco.",
    "allow": "Permitir e continuar",
    "refuse": "Continuar sem permitir",
    "go_on": "Continuar agora",
    "open_app": "Abrir {app}",
    "in_browser": "Continuar no navegador",
    "and": "{all} e {last}",
}
