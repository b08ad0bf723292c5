"""Python programs under the checker: their launches are intercepted, checked and run without a GPU."""
