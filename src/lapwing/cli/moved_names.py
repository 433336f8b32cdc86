"""Commands and options that had other names: where each is now, for whoever types the old one."""

from __future__ import annotations

from types import MappingProxyType

_USES = {
    "adapt": "lapwing new --after SURVEY RESULT",
    "backup": "lapwing collector backup",
    "difference": "lapwing compare FIRST SECOND",
    "distances": "lapwing compare RESULT --truth FILE",
    "export": "lapwing collector export FINGERPRINT",
    "extend": "lapwing release --next-round RELEASE DATA ...",
    "import": "lapwing collector import FILE",
    "quantile": "lapwing answer RESULT --quantile P",
    "summarize": "lapwing count DATA",
    "watch": "lapwing series --watch FILE SURVEY TALLY",
}


def _moved(name: str, use: str) -> str:
    words = use.split()
    new = " ".join(words[: 3 if words[1] == "collector" else 2])
    return f"lapwing {name} is now {new}; use: {use}"


MOVED_COMMANDS = MappingProxyType({name: _moved(name, use) for name, use in _USES.items()})
"""What is said to somebody who types the old name of a command."""

_DOMAIN = "--domain FILE, a survey or a file of: lapwing new --domain-only {} ... -o FILE"

_OF_A_DOMAIN = (
    *("--low", "--high", "--bounds", "--bins", "--unit", "--circular", "--scale", "--atom"),
    *("--edges", "--closed", "--integers", "--categories", "--categories-file", "--other"),
    *("--outside", "--missing"),
)

_EVERYWHERE = {
    "--neighbours": "--neighbors",
    "--engine": "Python for a cluster: lapwing.engines.spark or lapwing.engines.beam",
    "--truth-result": "--truth",
    "--statement": "--output",
    "--minimum": "--segment-minimum",
    "--state": "--resume, which keeps what is done in OUTPUT.progress",
    "--counts": "--count-column: lapwing simulate SURVEY TABLE --count-column NAME",
    "--value-column": "--column",
    "--bounds": "--low and --high",
    "--segments": "--segment of: lapwing new --domain-only",
    "--series": "lapwing series SURVEY TALLY ...",
    "--names": "lapwing series --names",
    "--so-far": "lapwing series --so-far",
    "--together": "lapwing decode SURVEY TALLY SURVEY TALLY, without it",
    "--simplex": "lapwing decode without it",
    "--no-simplex": "--signed",
    "--projection": "lapwing decode without it, or --signed",
    "--smoothed": "--set smoothed=true",
    "--no-smoothed": "--set smoothed=false",
    "--weighted": "--set weighted=true",
    "--no-weighted": "--set weighted=false",
    "--band": "--set band=true",
    "--no-band": "--set band=false",
    "--roughness": "--set roughness=NUMBER",
    "--tolerance": "--set tolerance=NUMBER",
    "--limit": "--set limit=N",
    "--width": "--set width=NUMBER",
    "--grid": "--set grid=N",
}


def moved_option(command: str, option: str) -> str | None:
    """Return what is said to somebody who types the old name of an option; None of another one.

    Parameters
    ----------
    command : str
        Which does not know the option.
    option : str
        As typed.

    Examples
    --------
    >>> moved_option("release", "--neighbours")
    'lapwing release has no --neighbours; use --neighbors'
    """
    if option in _OF_A_DOMAIN and command in ("recommend", "release", "count"):
        low = "--low and --high" if option == "--bounds" else option
        return f"{option} belongs to a domain; use {_DOMAIN.format(low)}"
    use = _EVERYWHERE.get(option)
    return None if use is None else f"lapwing {command} has no {option}; use {use}"
