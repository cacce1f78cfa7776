"""Route of table tests."""

from fastapi import APIRouter

from braid.schemas import TableTestReport, TableTestRequest
from braid.service.checked_body import CheckedBody
from braid.service.control.table_tests.table_run import requested_tests
from braid.service.dependencies import ComponentsOf

router = APIRouter(prefix="/v1/tables", tags=["tables"], route_class=CheckedBody)


@router.post("/{database}/{table}:test")
def run_table_tests(
    components: ComponentsOf, database: str, table: str, request: TableTestRequest
) -> TableTestReport:
    """Run tests of a table with its registered streams: those of the request, or those of the declaration.

    The table is neither read nor written: each test has a new table in memory.
    """
    document = components.registrar.document(f"{database}.{table}")
    return requested_tests(document, request.cases, clock=components.clock)
