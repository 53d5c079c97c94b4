"""What automation counts. The counters are in no registry: the application adds COUNTERS to its own."""

from prometheus_client import Counter

step_cache = Counter("mobiletest_step_cache_total", "Sentences looked up in the step cache", ["outcome"], registry=None)
step_cache_failures = Counter(
    "mobiletest_step_cache_failures_total", "Times the step cache was unavailable", registry=None
)
model_calls = Counter(
    "mobiletest_model_calls_total", "Model calls: answered, tried_again, failed", ["outcome"], registry=None
)
model_tokens = Counter("mobiletest_model_tokens_total", "Tokens used by models, prompt and completion", registry=None)
device_cleanings = Counter(
    "mobiletest_device_cleanings_total",
    "Devices cleaned of a session, or not: cleaned, failed",
    ["outcome"],
    registry=None,
)

COUNTERS = (step_cache, step_cache_failures, model_calls, model_tokens, device_cleanings)
