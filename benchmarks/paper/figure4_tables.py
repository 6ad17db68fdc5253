from typing import NamedTuple, Any


class Cell(NamedTuple):
    name: str
    method: str
    noise: int
    split: int
    tests: tuple
    validation: float
    setting: dict
    path: tuple


def write_tables(*a):
    pass
