"""The layout of declared tables: their columns, options and aggregate functions in the table format. Pure."""
