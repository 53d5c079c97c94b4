"""The catalog: organisations, API keys, apps, builds, tests, attachments and workflows."""
