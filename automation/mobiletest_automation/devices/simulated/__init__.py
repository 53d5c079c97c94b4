"""The simulated device: it runs a model of an app instead of the app."""
