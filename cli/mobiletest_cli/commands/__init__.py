"""The commands, one module for each group; none of them imports more than typer and the context when it is loaded."""
