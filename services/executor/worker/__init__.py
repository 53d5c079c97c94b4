"""The role `worker`: claims runs, carries them out, keeps their leases, writes their verdicts, hands them back."""
