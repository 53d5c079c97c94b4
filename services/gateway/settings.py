"""The variables that the gateway reads."""

from pydantic import Field, field_validator

from services.chassis.settings import ProcessSettings
from services.gateway.auth.rate_limits import RequestLimits
from services.gateway.http.public_address import is_web_address

MEBIBYTE = 1024 * 1024


class Settings(ProcessSettings):
    """Sizes are in bytes, times in seconds."""

    http_listen: str = "127.0.0.1:8080"
    """host:port of the REST API."""
    public_url: str = ""
    """The address at which people open the dashboard, such as https://mobiletest.example.com: links in JUnit and of the
    command line begin with it. Empty: the address that the client used."""
    catalog_address: str = "127.0.0.1:50051"
    """host:port of the catalog."""
    executor_address: str = "127.0.0.1:50052"
    """host:port of the executor's API."""
    reporting_address: str = "127.0.0.1:50053"
    """host:port of reporting."""
    object_store: str
    """The store of catalog and executor: with another one no upload succeeds. Uploads are written to it, and large
    downloads read from it."""
    request_timeout_seconds: float = Field(default=10, gt=0)
    """The time limit of a request without X-Request-Timeout."""
    max_request_timeout_seconds: float = Field(default=60, gt=0)
    """The longest X-Request-Timeout; also ends a connection whose client does not read its response."""
    stream_timeout_seconds: float = Field(default=3600, gt=0)
    """The time limit of uploads, downloads and event streams without X-Request-Timeout."""
    stats_timeout_seconds: float = Field(default=0.1, gt=0)
    """How long an app's response waits for its statistics before it is sent without them."""
    keepalive_timeout_seconds: float = Field(default=75, gt=0)
    """Ends an idle connection, and one that sends half a header."""
    body_timeout_seconds: float = Field(default=15, gt=0)
    """How long a JSON body may take to arrive."""
    idle_timeout_seconds: float = Field(default=30, gt=0)
    """How long an upload may pause before it is refused."""
    min_upload_bytes_per_second: int = Field(default=16 * 1024, ge=0)
    """An upload that is slower on average is refused, once its bytes have been waited for longer than the idle timeout;
    0 allows any."""
    heartbeat_seconds: float = Field(default=15, gt=0)
    """The time between heartbeats on a silent event stream."""
    max_body_bytes: int = Field(default=MEBIBYTE, gt=0)
    """The largest JSON body."""
    max_upload_bytes: int = Field(default=2 * 1024 * MEBIBYTE, gt=0)
    """The largest upload."""
    max_connections: int = Field(default=10_000, gt=0)
    """For a connection beyond this number one is closed: an idle one, one that has sent no key for a second, or one
    whose client does not read; if there is none, it is closed at once."""
    organisation_unread_bytes: int = Field(default=32 * MEBIBYTE, gt=0)
    """How many bytes the answers may have that an organisation's clients do not read; beyond, the connection that
    has waited longest is closed."""
    unread_bytes: int = Field(default=128 * MEBIBYTE, gt=0)
    """The same for all organisations together; the one with the most loses its connection."""
    organisation_requests_per_second: int = Field(default=500, ge=1)
    """The requests of one organisation per second. This and the following are defaults of limits that hold in each
    process: N replicas allow up to N times as much."""
    organisation_request_burst: int = Field(default=1000, ge=1)
    """How many requests of one organisation may come at once after a pause."""
    key_requests_per_second: int = Field(default=250, ge=1)
    """The requests with one API key per second."""
    key_request_burst: int = Field(default=500, ge=1)
    """How many requests with one API key may come at once after a pause."""
    organisation_uploads: int = Field(default=10, ge=0)
    """The maximum number of uploads of an organisation at the same time."""
    organisation_upload_bytes_per_second: int = Field(default=32 * MEBIBYTE, ge=1)
    """How fast one organisation uploads through this process to the object store, after a burst of two seconds; faster
    uploads wait. What callers of gRPC send has the same limit in the catalog."""
    organisation_streams: int = Field(default=500, ge=0)
    """The maximum number of event streams and waiting long polls of an organisation at the same time."""

    @field_validator("public_url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        if url and not is_web_address(url):
            raise ValueError("must begin with http:// or https:// and a host, such as https://mobiletest.example.com")
        return url.rstrip("/")

    @property
    def request_limits(self) -> RequestLimits:
        return RequestLimits(
            requests_per_second=self.organisation_requests_per_second,
            request_burst=self.organisation_request_burst,
            key_requests_per_second=self.key_requests_per_second,
            key_request_burst=self.key_request_burst,
            uploads=self.organisation_uploads,
            streams=self.organisation_streams,
        )
