"""Speed of training and prediction, compared with C++, PyTorch and scikit-learn."""
