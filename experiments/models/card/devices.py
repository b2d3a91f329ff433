"""Cards for what-ifs: presets.toml, and changes of a user's own: NAME or NAME:key=value,key=value."""
import dataclasses
import math
import pathlib
import tomllib
from dataclasses import dataclass

from input_error import InputError
from models.card.parameters import TAGS, Card, Input, kv_direct

FOLDER = pathlib.Path(__file__).resolve().parent
KEYS = {field.name: field.type for field in dataclasses.fields(Card)}
FLAGS = {"true": True, "false": False}
WHOLE = {key for key, kind in KEYS.items() if kind is int} | {"tags", "in_flight"}   # these two are infinite without their limit
MOST = 2**20   # of a whole number, and of all tags, each of which has a place in a list of the simulator


@dataclass(frozen=True)
class Device:
    name: str
    says: str
    card: Card
    changes: list    # Inputs that differ from KV-Direct's


def presets():
    """Returns the cards of presets.toml by name. Raises ValueError for a change without a source."""
    out = {}
    for name, table in tomllib.loads((FOLDER / "presets.toml").read_text()).items():
        changes = [Input(key, **change) for key, change in table.get("changes", {}).items()]
        if wrong := [change for change in changes if change.name not in KEYS or change.tag not in TAGS or not change.source]:
            raise ValueError(f"presets.toml: {name}: {wrong[0].name} is no value of a card, or has no tag or source")
        out[name] = Device(name, table["says"], kv_direct().changed(**{change.name: change.value for change in changes}), changes)
    return out


def number_of(where, key, text):
    """Returns the value of a change of the user's."""
    if KEYS[key] is bool:
        if text not in FLAGS:
            raise InputError(f"{where}: {key} is true or false")
        return FLAGS[text]
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{where}: {key}={text} is not a number") from None
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{where}: {key}={text} is not a number above 0")
    if key in WHOLE:
        if number != int(number) or number > MOST:
            raise InputError(f"{where}: {key}={text} is not a whole number up to {MOST}")
        return int(number)
    return number


def device_of(words):
    """Returns the card that --device names. Raises InputError."""
    name, _, given = words.partition(":")
    where = f"--device={words}"
    known = presets()
    if name not in known:
        raise InputError(f"{where}: there is no device '{name}'; there are {', '.join(known)}")
    device = known[name]
    values = {}
    for change in given.split(",") if given else []:
        key, equals, text = change.partition("=")
        if not equals or key not in KEYS:
            raise InputError(f"{where}: there is no value '{key}'; there are {', '.join(KEYS)}")
        if key in values:
            raise InputError(f"{where}: {key} is given twice")
        values[key] = number_of(where, key, text)
    if (slots := values.get("station_slots", 1)) & (slots - 1):
        raise InputError(f"{where}: station_slots={slots} is not a power of two")
    card = device.card.changed(**values)
    if card.links * card.tags > MOST:
        raise InputError(f"{where}: {card.links} links with {card.tags} tags each have more than {MOST} tags")
    own = [Input(key, value, "assumed", "given by --device") for key, value in values.items()]
    kept = [change for change in device.changes if change.name not in values]
    return Device(words, device.says, card, kept + own)
