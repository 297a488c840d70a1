"""Links; whoever loads them has them listen to what they use."""

from app.links import replan as replan
