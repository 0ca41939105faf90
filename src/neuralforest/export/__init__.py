"""Networks for other runtimes: `neuralforest.export.onnx` and `neuralforest.export.torch`.

Each module needs the library that it is named after, and says how to install it where it is missing.
"""
