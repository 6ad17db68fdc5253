"""What can go wrong on the user's side; each message says what to do next."""

__all__ = ["FormatError", "InputError", "LeapError", "MemoryLimitError", "QcompileError"]


class QcompileError(Exception):
    """Base of every error that the user can put right. The command exits with code 2."""


class InputError(QcompileError, ValueError):
    """Data or an option that cannot be used as given."""


class FormatError(QcompileError, ValueError):
    """A file that is not what its name or its header claims."""


class MemoryLimitError(QcompileError, MemoryError):
    """A result that would not fit in memory; raised before anything is allocated."""


class LeapError(QcompileError, RuntimeError):
    """Leap, or a job there: the message says what became of it and how to go on. Exit code 3.

    `code` is the HTTP status where the server refused a request.
    """

    def __init__(self, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.code = code
