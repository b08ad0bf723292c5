"""From facts to data mappings: regions, map types, updates, and the text of the directives."""
