"""`keys`: make, list and revoke the keys that sign certificates."""

from typing import Annotated, Any

import typer

from privacy_plugin.cli.options import Json
from privacy_plugin.cli.terminal import PASSED, Terminal, command

keys = typer.Typer(no_args_is_help=True, help="Make, list and revoke the keys that sign certificates.")

KeyId = Annotated[str, typer.Argument(metavar="ID", help="The id of the key, as `keys list` shows it.")]
Reason = Annotated[str, typer.Option(help="Why the key is revoked, for the record.")]


@keys.command("new")
@command
def new(as_json: Json = False) -> int:
    """Make a key pair; from now on it signs. Older keys stay valid until they are revoked.

    Give the file .pub to everyone who releases or receives tables. The files .key and .seal stay with the checks; a
    release under a policy with a unit or a population also needs .seal, which cannot sign.
    """
    from privacy_plugin.gate.keyring import KEY_VARIABLE, KeyFolder

    terminal = Terminal(as_json=as_json)
    folder = KeyFolder(signing=True)
    key = folder.create()
    terminal.print_line(f"key {key.id}")
    terminal.print_line(f"private key: {folder.path / f'{key.id}.key'}")
    terminal.print_line(f"public key: {folder.path / f'{key.id}.pub'}")
    terminal.print_note(f"the variable {KEY_VARIABLE}, if set, is used instead of this folder")
    terminal.print_json({"id": key.id, "public_key": str(folder.path / f"{key.id}.pub")})
    return PASSED


@keys.command("list")
@command
def list_keys(as_json: Json = False) -> int:
    """List the keys that are trusted here, which of them signs, and which are revoked."""
    from privacy_plugin.gate.keyring import load_keyring

    terminal = Terminal(as_json=as_json)
    found = load_keyring()
    signing = found.private.id if found.private and found.private.id not in found.revoked else None
    rows: list[dict[str, Any]] = [
        {"id": key.id, "created": key.created, "signs": key.id == signing, "revoked": key.id in found.revoked}
        for key in sorted(found.public.values(), key=lambda key: key.created)
    ]
    for row in rows:
        states = [word for word in ("signs", "revoked") if row[word]] or ["trusted"]
        terminal.print_line(f"{row['id']}  {row['created'][:19] or 'no date':<19}  {', '.join(states)}")
    if not rows:
        terminal.print_line("no keys; make one: privacy-plugin keys new")
    terminal.print_json({"keys": rows})
    return PASSED


@keys.command("revoke")
@command
def revoke(key_id: KeyId, reason: Reason = "", as_json: Json = False) -> int:
    """Revoke a key of the key folder: every gate that it signed is closed until its table is judged again.

    Copy the file .revoked to the folders of public keys on other machines, and inform the recipients.
    """
    from privacy_plugin.gate.keyring import KeyFolder

    terminal = Terminal(as_json=as_json)
    path = KeyFolder().revoke(key_id, reason=reason)
    terminal.print_line(f"revoked: {path}")
    terminal.print_json({"id": key_id, "revoked": str(path)})
    return PASSED
