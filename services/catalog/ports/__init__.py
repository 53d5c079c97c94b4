"""What the use-cases need from outside, one module per resource.

Everything is read and written as the caller of `chassis.context.current()`: what belongs to another organisation does
not exist. The `KeyRing` alone knows no caller.
"""
