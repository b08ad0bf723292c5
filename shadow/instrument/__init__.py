"""Which instruction is which event: the plan that every engine realises."""
