"""Device pools: what devices a worker has, as a YAML file says, who holds them, and which of their hubs are well."""
