"""Reports, composed by pure functions from the rows that were looked up."""
