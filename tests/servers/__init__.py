"""Servers of our own that stand in for services, over real sockets on this machine."""
