"""Completion of commands and options in a shell: the script of `braid completion`, and the answers to it."""

import os
from enum import StrEnum
from typing import Final

from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

_VARIABLE: Final = "_BRAID_COMPLETE"
"""The variable by which the script of a shell asks the program what may come next."""


class Shell(StrEnum):
    """A shell."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion_script(shell: Shell) -> str:
    """Return the script of a shell; the shell asks the program itself for what may come next."""
    return get_completion_script(prog_name="braid", complete_var=_VARIABLE, shell=shell.value)


def prepare_completion() -> None:
    """Make the program answer shells that ask; nothing is loaded if none does."""
    if _VARIABLE in os.environ:
        completion_init()
