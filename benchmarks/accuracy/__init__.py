"""Accuracy of neural forests and their peers with default settings, on many data sets."""
