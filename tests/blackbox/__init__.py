"""A chaos run from outside: HTTP clients that know the protocol and nothing of this project.

Ordinary `a2a-adapters serve` processes are killed while clients send, stream, answer, cancel and
repeat. `python -m tests.blackbox --seeds 10` prints per seed what was lost, stuck or repeated.
Only `agents` imports the project.
"""
