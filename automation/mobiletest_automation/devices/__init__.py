"""The device port, with gestures and waits that work on every device; pools and drivers are subpackages."""
