"""gRPC servicers, one module per resource, with the conversion between messages and model."""
