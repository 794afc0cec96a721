"""`make same`: train short runs in two versions of the project and compare every bit of their results."""
