"""The raw tables by subject; `warehouse.schema` has all of them."""
