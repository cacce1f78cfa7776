"""The exports that the demo prints for another shell."""

import io
import subprocess

from rich.console import Console

from braid.demo.flights import print_exports


def test_printed_exports_can_be_pasted_into_another_shell() -> None:
    values = {"WAREHOUSE": "/tmp/it's [bold]here[/bold] " + "x" * 100, "API": "http://host:1/?a&b"}
    narrow = Console(file=io.StringIO(), width=20)

    print_exports(narrow, values)

    assert isinstance(narrow.file, io.StringIO)
    script = narrow.file.getvalue() + 'sh -c \'printf "%s\\n" "$WAREHOUSE" "$API"\''
    ran = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == list(values.values())
