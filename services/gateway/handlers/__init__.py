"""What answers a route: generic by the shape of the RPC, and a few named ones that put several calls together."""
