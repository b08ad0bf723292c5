"""From C and C++ sources with OpenMP `target` directives to data mappings and findings."""
