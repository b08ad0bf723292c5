"""The vocabulary that everything which reports shares: findings, runs, rules and errors."""
