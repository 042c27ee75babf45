"""The switch layer for Onyx: one SSH session, line by line."""
