"""What stored screens answer without a device: whether steps hold on them, and which element a step has bound."""

# With so many of its last passes a proposal for a step must agree.
HEALING_PASSES = 5
