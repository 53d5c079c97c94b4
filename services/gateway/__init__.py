"""The gateway: REST and server-sent events outside, gRPC inside. It keeps nothing."""
