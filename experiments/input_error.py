"""The error of wrong input, for all scripts of this folder."""


class InputError(Exception):
    """An error in the input, with a message of one line for the user."""
