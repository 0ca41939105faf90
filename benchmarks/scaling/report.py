"""The page of results: what was measured, and what the simulation makes of it."""

from typing import Any

from benchmarks.scaling.costs import Costs
from benchmarks.scaling.runs import N_BLOCKS, N_ROWS, PHASES, RESULTS, results
from benchmarks.scaling.simulation import Cluster, Job, moved_bytes, simulate

_SIMULATED = {
    "trees": ("samples", "collection", "trees"),
    "selection": ("selection", "choice"),
}  # phases that are measured together


def write() -> None:
    found = results()
    parts = ["# Scaling: measurements", *_accuracy(found), *_out_of_core(found), *_kills(found), *_joblib(found)]
    if "costs" in found:
        costs = Costs(**found["costs"])
        parts += [*_simulated(found, costs), *_extrapolated(costs)]
    RESULTS.with_suffix(".md").write_text("\n\n".join(parts) + "\n")


def table(head: list[str], rows: list[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _accuracy(found: dict[str, Any]) -> list[str]:
    rows = []
    for name, run in sorted(found.items()):
        if name.startswith("accuracy"):
            numbers = [f"{run['rmse']:.5f}", f"{run['excess']:.4f}", f"{run['wall']:.0f}", f"{run['processor']:.0f}"]
            rows.append([name.removeprefix("accuracy "), *numbers, f"{run['peak_mb']:.0f}", f"`{run['digest']}`"])
    text = (
        f"{N_BLOCKS * N_ROWS:,} rows in {N_BLOCKS} partitions, 20 features, Friedman's function with noise of standard "
        "deviation 1; 100,000 test rows. `local 100000`: a random part of the rows, without and with the stack. "
        "`dask 4 200000`: 4 workers (processes of one thread), `max_rows_per_tree=200000`. The excess is the root of "
        "the squared error beyond the noise. Memory is the peak of the largest process. The machine has two cores "
        "that other programs used too: wall times are not reliable, processor times are."
    )
    head = ["run", "test RMSE", "excess RMSE", "wall, s", "processor, s", "memory, MB", "weights (SHA-256)"]
    return ["## Accuracy, time and memory", text, table(head, rows)]


def _out_of_core(found: dict[str, Any]) -> list[str]:
    run = found.get("out of core")
    if run is None:
        return []
    text = (
        f"{run['rows']:,} rows in Parquet files of {run['bytes'] / 1e9:.2f} GB, two workers limited to "
        f"{run['memory_limit'] / 1e9:g} GB each: {run['wall']:.0f} s, peak memory of a worker {run['peak_mb']:.0f} MB, "
        f"{run['workers_lost']} workers lost, test RMSE {run['rmse']:.5f}."
    )
    return ["## Data larger than memory", text]


def _kills(found: dict[str, Any]) -> list[str]:
    expected = found.get("kills none")
    runs = [(name.removeprefix("kills "), run) for name, run in sorted(found.items()) if name.startswith("kills ")]
    if expected is None:
        return []
    rows = [
        [
            name,
            run["killed"],
            ", ".join(f"{each:.1f}" for each in run["moments"]),
            f"{run['wall']:.0f}",
            "yes" if run["digest"] == expected["digest"] else "NO",
        ]
        for name, run in runs
    ]
    text = "Four workers, two of them killed (SIGKILL) at random moments: 60,000 rows, `max_rows_per_tree=20000`."
    return ["## Lost workers", text, table(["run", "killed before the end", "after, s", "wall, s", "same bits"], rows)]


def _joblib(found: dict[str, Any]) -> list[str]:
    run = found.get("joblib")
    if run is None:
        return []
    seconds = run["client_processor"]
    text = (
        "The local estimator on 20,000 rows inside `joblib.parallel_config`: processor seconds of the client "
        f"{seconds['threads']:.1f} with threads and {seconds['dask']:.1f} with Dask, of the workers "
        f"{run['workers_processor']:.1f}; same bits: {'yes' if run['same_bits'] else 'NO'}."
    )
    return ["## joblib's Dask backend", text]


def _simulated(found: dict[str, Any], costs: Costs) -> list[str]:
    rows = []
    for name, run in sorted(found.items()):
        if name.startswith("accuracy dask") and run["phases"]:
            _, _, workers, size = name.split()
            job = Job(N_BLOCKS * N_ROWS, N_BLOCKS, run["trees"], int(size))
            simulated = simulate(job, Cluster(int(workers), has_scheduler=False), costs)
            ours = {phase: sum(simulated[each] for each in _SIMULATED.get(phase, (phase,))) for phase in PHASES}
            cells = [f"{run['phases'][phase]:.1f} / {ours[phase]:.1f}" for phase in PHASES]
            ratio = sum(ours.values()) / sum(run["phases"].values())
            rows.append([workers, f"{int(size):,}", *cells, f"{ratio:.2f}"])
    text = (
        "Processor seconds of the busiest worker in each phase, measured / simulated, and the ratio of the sums: the "
        "time of the fit where every worker has a core of its own. The simulation is given the costs of single tasks, "
        "measured apart: " + ", ".join(f"{name} {value:.3g}" for name, value in costs._asdict().items()) + "."
    )
    return ["## Simulation", text, table(["workers", "rows a tree", *PHASES, "simulated / measured"], rows)]


def _extrapolated(costs: Costs) -> list[str]:
    rows = []
    for n_rows, n_partitions, n_trees, workers in (
        (10**6, 20, 13, 4), (10**7, 100, 13, 13), (10**8, 500, 50, 1), (10**8, 500, 50, 10),
        (10**8, 500, 50, 50), (10**8, 500, 50, 1_000), (10**9, 2_000, 100, 100),
        (10**9, 2_000, 1_000, 1_000), (10**10, 2_000, 100, 1_000), (10**10, 2_000, 1_000, 1_000),
        (10**10, 10_000, 1_000, 1_000),
    ):  # fmt: skip
        job = Job(n_rows, n_partitions, n_trees, 200_000)
        plain, rough = (simulate(job, Cluster(workers, 1e9 / 8, *more), costs) for more in ((0.0, 0.0), (0.3, 0.1)))
        slowest = max(plain, key=lambda name: plain[name])
        cells = [f"{float(n_rows):.0e}", n_partitions, n_trees, workers, f"{moved_bytes(job, costs) / 1e9:.3g}"]
        seconds = [f"{sum(each.values()):.3g}" for each in (plain, rough)]
        rows.append([*cells, *seconds, f"{slowest}, {plain[slowest]:.2g}"])
    text = (
        "Simulated seconds with 200,000 rows a tree, workers of one thread, a network of 1 Gbit/s per worker, rows "
        "that are generated or read at the measured speed. Disturbed: workers differ in speed (standard deviation "
        "30%), and each is lost 0.1 times an hour."
    )
    head = ["rows", "partitions", "trees", "workers", "moved, GB", "seconds", "disturbed", "longest phase, s"]
    return ["## Extrapolation", text, table(head, rows)]
