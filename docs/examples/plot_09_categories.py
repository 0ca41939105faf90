"""
Categorical features
====================

Data frames with strings need no encoding: the default forest splits by sets of categories.
"""

# %%
# A price that depends on the size and, with another slope, on the district.
import numpy as np
import pandas as pd
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

import neuralforest as nf
from neuralforest.plots import SurfaceDisplay

rng = np.random.default_rng(0)
n = 1500
districts = np.array(["harbour", "hill", "mill", "north", "old town", "park", "station", "west"])
slope = pd.Series([3.0, 1.0, 2.5, 0.8, 3.5, 1.2, 2.0, 0.5], districts)
table = pd.DataFrame(
    {"size": rng.uniform(20, 120, n), "district": rng.choice(districts, n), "age": rng.uniform(0, 100, n)}
)
price = table["size"] * slope[table["district"]].to_numpy() - 0.3 * table["age"] + 10 * rng.normal(size=n)
X_train, X_test, y_train, y_test = train_test_split(table, price, random_state=0)

model = nf.NeuralForestRegressor(random_state=0).fit(X_train, y_train)
codes = nf.NeuralForestRegressor(categorical_features=None, random_state=0)
as_codes = lambda X: X.assign(district=X["district"].map({name: float(i) for i, name in enumerate(districts)}))
codes.fit(as_codes(X_train), y_train)
print("categories", round(root_mean_squared_error(y_test, model.predict(X_test)), 2))
print("alphabetical codes", round(root_mean_squared_error(y_test, codes.predict(as_codes(X_test))), 2))

# %%
# The surface of forest and model over a category and a number.
display = SurfaceDisplay.from_estimator(model, X_test, features=("size", "district"))

# %%
# Missing values and categories that were not in the training rows need no preparation.
strange = X_test.iloc[:2].assign(district=["moon", None])
print(model.predict(strange).round(1))
