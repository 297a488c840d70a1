"""Single sign-on by OpenID Connect: the provider, its tokens, and the accounts that are tied to it."""
