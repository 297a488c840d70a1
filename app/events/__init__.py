"""Events: what happened to links and their clicks, told in one order."""
