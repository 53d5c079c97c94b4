"""Page sources of drivers and browsers, each flavour read into the one model of elements."""
