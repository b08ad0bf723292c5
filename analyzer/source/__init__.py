"""From C and C++ files to trees: the libclang front end (clang.py), its values (tree.py) and minimal headers."""
