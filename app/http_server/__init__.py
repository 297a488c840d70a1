"""The HTTP edge: requests from granian to redirects in memory, thread pools and the WSGI application."""
