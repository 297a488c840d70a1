"""Page of a workspace's events: clicks and changes of links, newest first."""
