"""Submission to D-Wave's Leap: plans, costs, job folders, requests, answers.

Belongs here: everything that talks to the paid service or records what was said.
Does not belong here: embedding and decoding themselves.
"""
