"""Records the examples of the API documentation: python -m tests.reference (`make examples`)."""

import asyncio

import orjson

from services.gateway.openapi.examples import FILE
from tests.infrastructure import Infrastructure
from tests.reference.recording import record_examples
from tests.shared_infrastructure import SharedStack


async def main() -> None:
    """Start the stack, record, and write the file."""
    async with Infrastructure() as infrastructure:
        running = await infrastructure.stack()
        stack = SharedStack(**{name: getattr(running, name) for name in SharedStack.__dataclass_fields__})
        examples = await record_examples(stack)
    FILE.write_bytes(orjson.dumps(examples, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    print(f"{len(examples)} examples in {FILE.name}")


if __name__ == "__main__":
    asyncio.run(main())
