"""Events pushed to handlers: the feed is the queue, and each handler has its place in it."""
