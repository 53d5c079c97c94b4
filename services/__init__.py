"""The services of mobiletest.

Libraries load what they could use if it happens to be installed. What no service uses is hidden from them here, while
they are loaded for the first time.
"""

import sys

# PyMongo looks for pyOpenSSL, which we do not install, and loads cryptography on the way: 8 MiB in every process.
sys.modules.setdefault("pymongo.pyopenssl_context", None)  # type: ignore[arg-type]
# structlog would load these, which are installed beside the services only for development: 6 MiB.
_HIDDEN = {name for name in ("rich", "greenlet") if name not in sys.modules}
sys.modules |= dict.fromkeys(_HIDDEN)  # type: ignore[arg-type]
import structlog  # noqa: E402, F401

for _name in _HIDDEN:
    del sys.modules[_name]
