"""The rules, one Markdown file each; read by racedart.finding.registry."""
