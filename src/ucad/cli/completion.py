"""`ucad completion`: a script that lets a shell complete commands and options."""

from __future__ import annotations

from typing import Literal

__all__ = ["completion"]

_REGISTERED = """
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _cyclopts_ucad ucad
"""
"""What makes zsh use the function that the script defines, where the script is evaluated."""


def completion(shell: Literal["bash", "zsh", "fish", "powershell"], /) -> None:
    """Print a script that lets a shell complete ucad's commands, options and choices.

    For bash or zsh: eval "$(ucad completion bash)", in this shell or in its start-up file. For
    fish: ucad completion fish > ~/.config/fish/completions/ucad.fish

    Parameters
    ----------
    shell
        Which shell.
    """
    from ucad.cli.commands import app

    script = app.generate_completion(shell=shell)
    print(script + _REGISTERED if shell == "zsh" else script)
