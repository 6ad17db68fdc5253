"""Submission to D-Wave's Leap: plans, costs, jobs, requests, answers.

Belongs here: everything that talks to the paid service, and the record of each job.
Does not belong here: embedding and decoding themselves.
"""
