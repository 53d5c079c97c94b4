"""Reads XML into nodes: no document types, no entities but XML's own five, bounded."""

from xml.parsers import expat

from services.executor.automation.sources.nodes import Growing, Node, SourceError


def read_xml(text: str, *, lines_before: int = 0) -> Node:
    """The root node. SourceError when it is not well-formed, has a document type, or is larger than the limits.

    `lines_before` are those that were left out before the text, for the places in errors.
    """
    parser = expat.ParserCreate("utf-8")
    growing = Growing(lambda: (parser.CurrentLineNumber + lines_before, parser.CurrentColumnNumber + 1))

    def refuse(*_: object) -> None:
        raise growing.error("the source has a document type, which is not read: send what the driver gave")

    def end(_: str) -> None:
        growing.end()

    parser.buffer_text = True
    parser.StartElementHandler = growing.begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = growing.text
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise SourceError(
            f"the source is not well-formed XML ({reason}): send it whole, as the driver gave it",
            error.lineno + lines_before,
            error.offset + 1,
        ) from None
    return growing.roots[0]
