"""App models for the simulated device: small ones whose runs last as long as a test wants."""

GOOD = 'Tap "Go"'
SEE = 'I see "Done"'


def model(*, step_ms: int = 0) -> bytes:
    """An app with a button and what it shows. `step_ms` of real time pass in each step."""
    return f"""app_model: 1
app: {{id: com.example.go, name: Go, version: "1.0"}}
pace: {{step: {step_ms}ms}}
start: first
screens:
  first:
    title: First
    elements:
      - {{type: button, id: go, text: Go, tap: second}}
  second:
    title: Second
    elements:
      - {{type: text, id: done, text: Done}}
""".encode()
