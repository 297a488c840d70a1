"""HTTP server: hands granian's requests to in-memory redirects, thread pools and the WSGI application."""
