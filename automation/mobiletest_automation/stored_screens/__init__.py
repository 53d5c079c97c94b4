"""What stored screens answer without a device: whether steps hold on them, and which element a step has bound."""
