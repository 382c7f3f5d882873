"""ShapleyX: Shapley effects and Sobol' indices of a sparse polynomial that is fitted to the values at the rows.

Its polynomials are orthogonal for features that are uniform on the range of the data and independent of each other: what it
tells is of that law, whatever the rows are of. Its own Monte Carlo of dependent features draws from laws of its own, which an
adapter that has rows cannot give it.
"""

import matplotlib

matplotlib.use("Agg")

import pandas as pd
from shapleyx import rshdmr

from fe_adapter import Indices, Unsupported, serve


def indices(task):
    # The largest degrees of polynomials of one feature, of two, ….
    degrees = task.options.take("polys", [10, 5])
    task.options.refuse_rest()
    names = [f"x{s + 1}" for s in range(task.X.shape[1])]
    frame = pd.DataFrame(task.X, columns=names).assign(Y=task.model(task.X))
    fit = rshdmr(frame, polys=degrees, n_jobs=1, resampling=False)
    # All of `run_all` but its figure.
    fit.transform_data()
    fit.legendre_expand()
    fit.run_regression()
    fit.run_stats()
    fit.eval_all_indices()
    shares = dict(zip(fit.shap["label"], fit.shap["scaled effect"]))
    totals = dict(zip(fit.total["label"], fit.total["total"]))
    alone = fit.results.groupby("derived_labels")["index"].sum()

    def told(name, of):
        named = [names[s] for s in sorted(of)]
        if name == "shapley-effect.share":
            return shares[named[0]]
        if name == "sobol.total":
            return totals[named[0]]
        if name in ("sobol.first", "sobol.pair"):
            # What has no term is 0.
            return alone.get("_".join(named), 0.0)
        raise Unsupported(f"no index `{name}`")

    return Indices([told(name, of) for name, of in task.indices])


if __name__ == "__main__":
    serve({"indices": indices})
