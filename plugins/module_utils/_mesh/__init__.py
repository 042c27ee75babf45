"""The SSH mesh between containers: marked blocks, pinned host keys, one forced command."""
