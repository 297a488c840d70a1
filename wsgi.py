"""The application for a WSGI server, for `flask --app wsgi`, and for `./waypost`."""

from app.cli.__main__ import load_application, main

if __name__ == "__main__":
    main()
else:
    app = load_application()
