"""Only for reproducing the paper: its tables, protocol, dialogue task and PPMI training."""
