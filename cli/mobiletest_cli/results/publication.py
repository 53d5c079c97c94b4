"""Shows results, after the files that were asked for are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mobiletest_cli import presentation
from mobiletest_cli.errors import CliError
from mobiletest_cli.output import Output, error_document

if TYPE_CHECKING:
    from mobiletest_cli.api_types import ImportTestsResult
    from mobiletest_cli.results.files import ResultFiles
    from mobiletest_cli.results.report import Report


def publish(
    output: Output,
    files: ResultFiles,
    report: Report,
    code: int,
    *,
    imported: ImportTestsResult | None = None,
    error: CliError | None = None,
) -> int:
    """Write the files, which must not depend on who reads the output, and show the results; the exit code.

    `code` is that of the verdict, `error` is why there may be none.
    """
    written = files.write(report)
    code = code or written
    _show(output, files, report)
    files.annotate(report)
    if output.as_json:
        document = {"execution": report.execution, "runs": report.runs, "gate": report.gate, "import": imported}
        failed = {"error": error_document(error)} if error else {}
        output.document({**document, "exit_code": code, **failed})
    elif error is not None:
        output.error(error)
    return code


def _show(output: Output, files: ResultFiles, report: Report) -> None:
    presentation.show_runs(output, report.runs)
    failure = presentation.first_failure(report.runs)
    if failure is not None and not output.as_json:
        try:
            whole, evidence = files.source.whole_run(failure), files.source.evidence(failure)
        except CliError as error:
            output.warn(f"the steps of {failure['test_name']} cannot be shown: {error.message}")
        else:
            flow, display = report.path_of(failure), report.display_of(failure)
            presentation.show_failure(output, whole, flow, display, evidence)
    output.result()
    presentation.show_headline(output, report.execution, report.runs)
    if report.gate is not None:
        presentation.show_gate(output, report.gate, report.labels)
