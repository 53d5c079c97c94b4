"""Device pools: the devices of a worker, configured by a YAML file, their allocation, and the health of their hubs."""
