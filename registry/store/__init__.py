"""Documents of the registry on storage."""
