"""A data centre on one machine: see README.md in this directory."""
