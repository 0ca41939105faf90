"""Networks for other runtimes: `neuralforest.export.onnx` and `neuralforest.export.torch`.

Each module needs the library that it is named after; without it, the error names the extra to install.
"""
