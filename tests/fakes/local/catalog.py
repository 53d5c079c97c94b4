"""The stand-in for the catalog: `bootstrap` makes up an organisation; `republish` only says that it was called."""

import json
import sys
from uuid import uuid4

from tests.fakes.local.service import note_republish, serve

if __name__ == "__main__":
    if sys.argv[1:2] == ["bootstrap"]:
        sys.stdout.write(json.dumps({"org_id": str(uuid4()), "api_key": f"mt_{uuid4().hex}"}) + "\n")
    elif sys.argv[1:2] == ["republish"]:
        note_republish("catalog")
    else:
        serve("catalog")
