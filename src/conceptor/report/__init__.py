"""Results for people: tables, web pages, figures."""
