"""What was measured: data sets, their moments, and the files they come from."""
