"""What is said of YAML that cannot be read, where the usual mistakes are behind it."""

import pytest

from mobiletest_automation.flows.documents import read_documents
from mobiletest_automation.flows.nodes import DocumentError

HEADER = "appId: a\n---\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("appId: a\n- back", 2, 1, "a line with --- is missing above"),
        ("appId: a\nenv:\n  A: b\n\n- tapOn:\n    id: a", 5, 1, "a line with --- is missing above"),
        ("---\nappId: a\n- back", 3, 1, "a line with --- is missing above"),
        ("appId: a\n----\n- back", 2, 1, "(three dashes)"),
        ("appId: a\n--\n- back", 2, 1, "(three dashes)"),
        (f"{HEADER}- tapOn:\n\tid: a", 4, 1, "there is a tab"),
        (f"{HEADER}- tapOn:\n    id: a\n  \tindex: 1", 5, 3, "there is a tab"),
        (f"{HEADER}-\ttapOn: a", 3, 2, "there is a tab"),
        (f"{HEADER}- back\n    optional: true", 4, 5, '"optional": "back" needs a colon before fields can follow it'),
        (f"{HEADER}- repeat:\n    commands:\n      - back\n        optional: true", 6, 9, '"back" needs a colon'),
        (f"{HEADER}- tapOn: Go\n    optional: true", 4, 5, '"optional": "tapOn" has a value in its line'),
        (f'{HEADER}- tapOn: "Go"\n    optional: true', 4, 5, '"optional": "tapOn" has a value in its line'),
        (f"{HEADER}- tapOn: Go\n  - back: {{}}", 4, 5, '"back": its dash is indented more than that above'),
        (f"{HEADER}- tapOn: id: login", 3, 10, 'unexpected "id" in the line of tapOn: write "id" in a line of its own'),
        (f"{HEADER}- runFlow:\n    when: visible: Go", 4, 11, 'unexpected "visible" in the line of when'),
        (f"{HEADER}- inputText: ${{a ? 'x' : 'y'}}", 3, 24, "an expression that has a colon"),
        (f"{HEADER}- assertVisible: 'it's here'", 3, 22, "write '' instead of ' inside"),
        (f'{HEADER}- inputText: "a "b" c"', 3, 18, 'write \\" instead of " inside'),
        (f"{HEADER}- tapOn: @go", 3, 10, "a value that begins with @ has to be in quotes"),
        (f'{HEADER}- tapOn: "\\d items"', 3, 11, "in double quotes a backslash is written \\\\"),
        (f"{HEADER}- tapOn: {{text: ${{NAME}}}}", 3, 17, "an expression within {...} or [...] has to be in quotes"),
        (f"{HEADER}- runFlow: {{env: {{A: b, C: ${{D}}}}, file: a.yaml}}", 3, 28, "an expression within {...}"),
        (f"{HEADER}- addMedia: [${{PICTURE}}]", 3, 14, "an expression within {...}"),
        (f"{HEADER}- tapOn: 'Go\n- back\n", 3, 10, "the quote that begins here is not closed"),
        (f"{HEADER}- tapOn:\n    id: a\n   index: 1", 5, 4, "the indentation fits no line above"),
        (
            f"{HEADER}launchApp\n- tapOn: Go",
            3,
            1,
            "a dash and a space are missing before the command: write - launchApp",
        ),
        (f"{HEADER}-launchApp\n- tapOn: Go", 3, 1, "a space is missing after the dash: write - launchApp"),
        (f"{HEADER}- tapOn:\n    id: a\n     index: 1", 5, 6, '"index" is indented more than "id" above'),
        (f"{HEADER}- tapOn: {{id: a\n- back", 3, 10, "the { that begins here is not closed by }"),
        (f"{HEADER}- tapOn: {{\n", 3, 10, "the { that begins here is not closed by }"),
        (f"{HEADER}- back\nappId: b", 4, 1, 'unexpected "appId" among the commands'),
        (f'{HEADER}- tapOn: "C:\\Users"', 3, 15, "in double quotes a backslash is written \\\\"),
        (f"{HEADER}<<<<<<< HEAD\n- tapOn: A\n=======\n- back", 3, 1, "a merge conflict of git"),
        (f"{HEADER}- back\n<<<<<<< HEAD\n- tapOn: A\n=======\n- back", 4, 1, "a merge conflict of git"),
        (f"{HEADER}- inputText: |\n  a\n", 4, 1, "the text below | or > has to be indented"),
        (f"{HEADER}- assertVisible: Price: 5", 3, 23, "put a sentence that has a colon"),
    ],
)
def test_mistake_is_named_where_it_is(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(DocumentError) as refused:
        read_documents(text, "a.yaml", limit=2)
    assert (refused.value.line, refused.value.column) == (line, column), refused.value.message
    assert message in refused.value.message
