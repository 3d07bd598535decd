"""Plots of an experiment: what each shows, before anything is drawn."""
