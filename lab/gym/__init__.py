"""The fault gym: what a whole site prints when it is right, and what it prints with one thing broken.

``site`` makes the outputs of a right site, ``faults`` and the tables beside it say what each fault changes in them,
``command`` sets a fault in the running lab where a simulated device can show it. All of it is SIMULATED: written after
the sources that stand at each fault, not recorded.
"""
