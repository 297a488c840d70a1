"""Single sign-on: real providers, good ones and hostile ones."""
