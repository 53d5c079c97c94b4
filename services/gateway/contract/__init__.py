"""What the protos say about REST: read once at start from the generated descriptors, never per request."""
