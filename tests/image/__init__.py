"""The image and its compose files, with and without a tool that builds images."""
