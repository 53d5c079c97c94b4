"""Between the domain and the messages of the protos, one module per resource; no rules."""
