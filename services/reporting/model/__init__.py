"""The domain of reporting: values, rules and folds; the standard library only, no clock, no input or output."""
