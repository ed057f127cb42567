"""Trials of cuts: stored models run over made-up events in several cuts, and must give the same rows in each.

Events are made up within the declared schemas (`made_up`), with the values that the SQL compares (`compared`) and the
times that it needs (`made_times`). What differs is reduced to a few events (`shrinking`) and written down as a case
that an analyst can add (`report`). pytest collects one trial per stored model (`items`).
"""
