"""The connection of a command to a service: its client with the caller's token, and the exit of a command that is refused."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braid.cli.arguments import end, refuse
from braid.cli.exits import EXIT_FAILED, EXIT_TRY_AGAIN, EXIT_USAGE, exit_of_status
from braid.cli.extras import require_extra

if TYPE_CHECKING:
    from braid.client import Client

TOKEN: Final = "BRAID_TOKEN"  # noqa: S105  # the name of a variable
_TOKEN_LENGTH_MAX: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A service, and who calls it.

    Attributes:
        api: The service's address.
        token_file: File with the token; None: the variable `BRAID_TOKEN`, or no token.
    """

    api: str
    token_file: Path | None

    @contextmanager
    def client(self) -> Iterator["Client"]:
        """Yield a client; exit with the reason, and the status of its class, if the service refuses or does not answer."""
        require_extra("client")
        # Here, not above: commands that need no service run without httpx.
        import httpx

        from braid.client import (
            BraidError,
            Client,
            ClientSettings,
            InvalidName,
            NoAnswer,
            Refused,
        )

        if not self.api.startswith(("http://", "https://")):
            refuse("--api", self.api, "expected an address such as http://127.0.0.1:8080")
        try:
            with Client(self.api, settings=ClientSettings(token=self._token())) as client:
                yield client
        except Refused as error:
            end(str(error), exit_of_status(error.status))
        except NoAnswer as error:
            hint = "hint: is the service running? `--api` or BRAID_API names another one"
            end(f"{self.api}: {error}\n  {hint}", EXIT_TRY_AGAIN)
        except InvalidName as error:
            end(str(error), EXIT_USAGE)
        except BraidError as error:
            end(str(error), EXIT_FAILED)
        except httpx.InvalidURL as error:
            refuse("--api", self.api, f"expected an address: {error}")

    def _token(self) -> str | None:
        """Return the token; it is in no argument, which other users of the machine could read."""
        if self.token_file is None:
            source, text = TOKEN, os.environ.get(TOKEN)
        else:
            source = "--token-file"
            try:
                with self.token_file.open(encoding="utf-8") as file:
                    text = file.read(_TOKEN_LENGTH_MAX)
            except (OSError, ValueError) as error:
                refuse(source, str(self.token_file), f"cannot be read: {error}")
        token = (text or "").strip()
        if not token and self.token_file is None:
            return None
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            # The value stays secret.
            end(f"{source}: expected a token, one line of printable characters", EXIT_USAGE)
        return token
