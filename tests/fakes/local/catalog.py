"""The stand-in for the catalog: `bootstrap` makes up an organisation and prints it as the real one does."""

import json
import sys
from uuid import uuid4

from tests.fakes.local.service import serve

if __name__ == "__main__":
    if sys.argv[1:2] == ["bootstrap"]:
        sys.stdout.write(json.dumps({"org_id": str(uuid4()), "api_key": f"mt_{uuid4().hex}"}) + "\n")
    else:
        serve("catalog")
