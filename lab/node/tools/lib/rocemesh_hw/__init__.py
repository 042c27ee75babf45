"""SIMULATED hardware of one lab node: the state files and the tools that print them in the real formats."""
