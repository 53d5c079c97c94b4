"""The device port, and what works on any device; pools and drivers are packages of their own."""
