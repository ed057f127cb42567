"""Demo data: what each domain's topics would receive, made up but repeatable, and how it is sent."""
