"""A SIMULATED RoCE switch: the Onyx command line over real SSH, with state, physics and injectable faults.

Run it with ``python -m lab.switch --help``. Needs asyncssh and the standard library.

Where a wording is known from a real device or its manual, the simulator prints that. Everything else that it had to
invent carries the words "synthetic wording", so that no test and no reader takes it for the vendor's text.
"""
