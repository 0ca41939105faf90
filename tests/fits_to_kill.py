"""A fit in a process of its own that tells which epoch it is in, to be killed at any moment."""

import time

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import neuralforest as nf


def fit(connection, options, path=None, pause=0.0):
    """Fit a small estimator; send the number of every epoch, and in the end predictions and the validation loss.

    With a path, the fit writes a checkpoint after every second epoch, and continues from the one that is there.
    """

    def tell(epoch, history):
        connection.send(epoch)
        time.sleep(pause)

    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(3, max_leaf_nodes=6, random_state=0)
    checkpoint = nf.Checkpoint(path, every=2) if path else None
    model = nf.NeuralForestRegressor(
        forest, max_epochs=40, random_state=0, checkpoint=checkpoint, callback=tell, **options
    ).fit(X, y)
    connection.send((model.predict(X[:20]).tolist(), model.validation_loss_))
