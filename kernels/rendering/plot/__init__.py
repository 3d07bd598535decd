"""Plots of experiments for a terminal and as PNG, and the words that all drawings of a plot share."""
