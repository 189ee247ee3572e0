"""stub"""


def cooper_epoch() -> None: ...
