"""JavaScript of tests, in an engine made for code that nobody trusts: QuickJS inside WebAssembly."""
