"""Results for people and programs: the only home of rich and jinja2."""
