"""racedart: find data races in CUDA kernels, with or without a GPU."""
