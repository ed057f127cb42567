"""The project's SQL outside of the runner.

- `notebook`: any model's text, or a query like one, as a batch over what is stored; nothing is written.
- `sdp`: the models that Spark's declarative pipelines can run, exported as such.

A model's text is checked here as well. Neither has the runner's guarantees.
"""
