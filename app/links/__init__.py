"""Links. Importing this package registers the listeners of `invalidation`."""

from app.links import invalidation as invalidation
