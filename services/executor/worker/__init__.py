"""The role `worker`: claims runs, carries them out, renews their leases, writes their verdicts, hands them back."""
