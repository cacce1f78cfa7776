"""The console: pages for a browser, which show and change what the API does.

`static/` has the files of the page: modules of JavaScript and styles, which need no tools to be built. They call the API only.
`static/vendor/` has the libraries, whose versions and digests are in `vendored.json`.

| module | what |
|---|---|
| `page_files` | the page and its files as they are served, by address |
| `joined_modules` | the modules of the console as one script |
"""
