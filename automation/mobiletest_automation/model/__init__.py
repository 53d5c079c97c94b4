"""What an attempt is made of, and how it ends."""
