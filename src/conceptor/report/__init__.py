"""Show results as tables, web pages and figures."""
