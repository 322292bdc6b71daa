"""Machines, and what they are asked."""

import contextlib
import ctypes
import json
import os

from . import _library
from ._declarations import *
from ._library import Error, call, lib, take_text
from ._results import Call, Fitted, Interval, Prediction, Range, Route, Step, Term

INT64_MAX = 2**63 - 1


@contextlib.contextmanager
def owned(struct, fini):
    """A zeroed struct, which may hold something when it is given up."""
    try:
        yield struct
    finally:
        fini(ctypes.byref(struct))


def text(value):
    return value.decode(errors="replace") if value else None


def as_bytes(value):
    return os.fsencode(value) if value is not None else None


def json_text(tree):
    """JSON is YAML. Ranges become lists, and NumPy's numbers and arrays what they hold."""
    def plain(value):
        return value.tolist() if hasattr(value, "tolist") else list(value)
    return json.dumps(tree, default=plain).encode()


class Machine:
    """A machine, by the path of its file or by its name, as after --machine."""

    def __init__(self, name_or_path):
        self._made = ctypes.c_void_p()
        call(lib.pto_machine_open, os.fsencode(_library.find("machines", os.fspath(name_or_path))), ctypes.byref(self._made))

    @classmethod
    def from_text(cls, content, path="machine"):
        """From the text of a machine file; `path` only names it in messages."""
        machine, content = cls.__new__(cls), content.encode()
        machine._made = ctypes.c_void_p()
        call(lib.pto_machine_create, content, len(content), os.fsencode(path), ctypes.byref(machine._made))
        return machine

    def __del__(self):
        if getattr(self, "_made", None):
            lib.pto_machine_destroy(self._made)

    def __repr__(self):
        return f"Machine({self.name!r})"

    @property
    def name(self):
        return text(lib.pto_machine_name(self._made))

    @property
    def source(self):
        return text(lib.pto_machine_source(self._made))

    def text(self):
        """The machine as the text of a machine file."""
        made = ctypes.c_void_p()
        call(lib.pto_machine_format, self._made, None, ctypes.byref(made))
        return take_text(made)

    def __getitem__(self, key):
        """The value of one number by its key, in SI units: machine["node.gpus"]."""
        value = ctypes.c_double()
        call(lib.pto_machine_get, self._made, key.encode(), ctypes.byref(value))
        return value.value

    def parameters(self):
        """The numbers that the machine has, by their keys."""
        table, count = ctypes.POINTER(pto_machine_param_t)(), ctypes.c_int()
        call(lib.pto_machine_params, self._made, ctypes.byref(table), ctypes.byref(count))
        found = {}
        for entry in table[:count.value]:
            if entry.param and entry.param.contents.line > 0:
                found[text(entry.key)] = entry.param.contents.value
            elif entry.number:
                found[text(entry.key)] = entry.number[0]
        _library.free(table)
        return found

    def what_if(self, *changes):
        """A copy with changes such as "injection.*=/2" (`portolan predict --help`). Layouts are not changed."""
        machine = Machine.__new__(Machine)
        machine._made = ctypes.c_void_p()
        call(lib.pto_machine_duplicate, self._made, ctypes.byref(machine._made))
        scenario = pto_scenario_t()
        lib.pto_scenario_init(ctypes.byref(scenario))
        with owned(scenario, lib.pto_scenario_fini):
            for change in changes:
                call(lib.pto_what_if, change.encode(), ctypes.byref(scenario), machine._made)
        return machine

    # --- collectives -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _predictions(self, collective, bytes, nodes, gpus_per_node, procs_per_gpu, procs_per_node, explain, keys):
        layout = {"nodes": nodes, "gpus_per_node": gpus_per_node, "procs_per_gpu": procs_per_gpu, "procs_per_node": procs_per_node}
        tree = {"scenario": "call", "machine": "of the module", "collective": collective, **keys}
        tree["layout"] = {key: value for key, value in layout.items() if value is not None}
        if procs_per_node is not None:
            tree.setdefault("memory", "host")
        if bytes is not None:
            tree["bytes"] = bytes
        content = json_text(tree)
        with owned(pto_scenario_t(), lib.pto_scenario_fini) as scenario:
            call(lib.pto_scenario_parse, content, len(content), b"scenario", ctypes.byref(scenario))
            call(lib.pto_scenario_bind, ctypes.byref(scenario), self._made)
            with owned(pto_predictions_t(), lib.pto_predictions_fini) as predictions:
                call(lib.pto_predict, ctypes.byref(scenario), self._made, explain, ctypes.byref(predictions))
                yield predictions

    def predict(self, collective, bytes=None, nodes=1, *, gpus_per_node=None, procs_per_gpu=None, procs_per_node=None, explain=True,
                **keys):
        """The Prediction of every strategy at every point. `bytes` or `nodes` may have several values: a list, or a dict
        with `from`, `to` and `factor`. `keys` are those of a scenario file: datatype, strategies, counts, ... Without
        `explain` there are no terms, intervals and energies, and it takes less time."""
        with self._predictions(collective, bytes, nodes, gpus_per_node, procs_per_gpu, procs_per_node, explain, keys) as made:
            return [prediction_of(made.strategy[i], made.point[at], made.prediction[at * made.strategy_count + i])
                    for at in range(made.point_count) for i in range(made.strategy_count)]

    def pick(self, collective, bytes=None, nodes=1, *, gpus_per_node=None, procs_per_gpu=None, procs_per_node=None, **keys):
        """The Range of points of each cheapest strategy, in increasing order; the arguments are those of `predict`."""
        with self._predictions(collective, bytes, nodes, gpus_per_node, procs_per_gpu, procs_per_node, True, keys) as made:
            table, count = ctypes.POINTER(pto_range_t)(), ctypes.c_int64()
            call(lib.pto_pick, ctypes.byref(made), ctypes.byref(table), ctypes.byref(count))
            ranges = [range_of(made, table[i]) for i in range(count.value)]
            _library.free(table)
            return ranges

    def group(self, nodes=1, gpus_per_node=0, procs_per_gpu=0, procs_per_node=0):
        """Processes that make collectives together, for `estimate`; 0: as in `predict`, what the machine has."""
        return Group(self, nodes, gpus_per_node, procs_per_gpu, procs_per_node)

    # --- steps -------------------------------------------------------------------------------------------------------

    def step(self, workload, nodes=None):
        """Predict a step of an application: the path or the name of a workload file, or a dict with its keys. `nodes`
        replaces its number of nodes."""
        with owned(pto_workload_t(), lib.pto_workload_fini) as read:
            if isinstance(workload, dict):
                content = json_text({"workload": "step", **workload})
                call(lib.pto_workload_parse, content, len(content), b"workload", ctypes.byref(read))
            else:
                path = _library.find("workloads", os.fspath(workload))
                call(lib.pto_workload_read, os.fsencode(path), ctypes.byref(read))
            if nodes is not None:
                read.layout.nodes = nodes
            call(lib.pto_workload_bind, ctypes.byref(read), self._made)
            with owned(pto_step_prediction_t(), lib.pto_step_fini) as step:
                call(lib.pto_step_predict, ctypes.byref(read), self._made, ctypes.byref(step))
                routes = tuple(route_of(step.route[i]) for i in range(step.route_count) if step.route[i].applicable)
                calls = tuple(step_call(read.call[i], step, i) for i in range(read.call_count))
                return Step(step.compute_s, route_of(step.mix), routes, calls)


def interval(low, high, known):
    return Interval(low, high) if known else None


def term_of(term):
    param = term.param.contents if term.param else None
    return Term(text(term.stage), text(term.key), term.count, term.seconds, param and param.value, text(term.file),
                param and param.line)


def prediction_of(strategy, at, made):
    name, price = text(strategy.contents.name), made.price
    if not made.applicable:
        return Prediction(name, at, None, text(made.reason))
    return Prediction(strategy=name, at=at, seconds=price.seconds, interval=interval(price.low_s, price.high_s, price.has_interval),
                      algorithm=text(made.algorithm.contents.name) if made.algorithm else None, chunks=made.chunks,
                      staged=(getattr(made.staged_members, "in"), made.staged_members.out), library_unknown=made.library_unknown,
                      extrapolated_doublings=price.extrapolated.doublings, joules=made.energy.joules if made.has_energy else None,
                      terms=tuple(term_of(made.explanation.term[i]) for i in range(made.explanation.count)))


def range_of(made, found):
    def name(index):
        return text(made.strategy[index].contents.name) if index >= 0 else None
    tied = [i for i in range(made.strategy_count)
            if i != found.winner and found.tied > 0 and lib.pto_range_is_tied(ctypes.byref(made), ctypes.byref(found), i)]
    return Range(getattr(found, "from"), found.below if found.below < INT64_MAX else None, name(found.winner),
                 tuple(name(i) for i in tied), name(found.runner_up), (found.margin_low, found.margin_high), found.near_tie,
                 found.overlap, found.regret, text(found.settle.key) if found.settle_point >= 0 else None, text(found.unpriced))


def route_of(route):
    return Route(text(route.strategy.contents.name) if route.strategy else None, route.seconds, route.communication_s, route.exposed_s,
                 interval(route.low.step_s, route.high.step_s, route.has_interval))


def step_call(workload_call, step, index):
    name = text(lib.pto_workload_call_name(ctypes.byref(workload_call)))
    if not lib.pto_workload_is_call(ctypes.byref(workload_call)):
        return Call(name, workload_call.times, workload_call.compute_s, None)
    made, entry = lib.pto_step_call_prediction(ctypes.byref(step), index, None), step.call[index]
    prediction = prediction_of(entry.predictions.strategy[entry.best], entry.predictions.point[0], made.contents) if made else None
    return Call(name, workload_call.times, 0.0, prediction)


# --- estimates -------------------------------------------------------------------------------------------------------

class Group:
    """Processes of a machine. Holds the tables that estimates are read from, one for each collective and datatype."""

    def __init__(self, machine, nodes, gpus_per_node, procs_per_gpu, procs_per_node):
        self.machine, self._layout = machine, (nodes, gpus_per_node, procs_per_gpu, procs_per_node)
        self._tables = {}

    def table(self, collective, datatype=None):
        """Price the table of a collective, unless that is done. Takes up to some tenths of a second."""
        found = self._tables.get((collective, datatype))
        if not found:
            nodes, gpus_per_node, procs_per_gpu, procs_per_node = self._layout
            cell = pto_ask_t(collective=collective.encode(), datatype=datatype.encode() if datatype else None, nodes=nodes,
                             gpus_per_node=gpus_per_node, procs_per_gpu=procs_per_gpu, procs_per_node=procs_per_node)
            found = ctypes.c_void_p()
            call(lib.pto_estimates_create, self.machine._made, ctypes.byref(cell), ctypes.byref(found))
            self._tables[collective, datatype] = found
        return found

    def __del__(self):
        for table in self._tables.values():
            lib.pto_estimates_destroy(table)


# The prototype keeps Python's lock: the call is shorter than giving it up.
_estimate = ctypes.PYFUNCTYPE(*[FUNCTIONS["pto_estimate"][0], *FUNCTIONS["pto_estimate"][1]])(("pto_estimate", lib))


def estimate(collective, bytes, group, datatype=None):
    """Seconds of a collective by the cheapest strategy, interpolated in a table of prices: some microseconds, but for the
    first call of a collective, which prices the table."""
    seconds = _estimate(group._tables.get((collective, datatype)) or group.table(collective, datatype), bytes, None)
    if seconds != seconds:
        raise Error("value out of range", f"no estimate for {bytes} bytes: outside of the table of {collective}")
    return seconds


def estimated_strategy(collective, bytes, group, datatype=None):
    """The strategy that `estimate` is the time of."""
    found = ctypes.POINTER(pto_strategy_t)()
    seconds = lib.pto_estimate(group.table(collective, datatype), bytes, ctypes.byref(found))
    return text(found.contents.name) if seconds == seconds else None


# --- fits ------------------------------------------------------------------------------------------------------------

def fitted(entry):
    def value(param):
        return param.value if param.line > 0 else None

    def bounds(param):
        return interval(param.low, param.high, param.has_interval)
    return Fitted(text(entry.name), value(entry.alpha_s), bounds(entry.alpha_s), value(entry.beta_s_per_byte),
                  bounds(entry.beta_s_per_byte), entry.sample_count, entry.residual, text(entry.note))


def paths_of(paths):
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)


def fit(samples, name="unnamed", source=None, *, collectives=(), inherits=None, breaks=None, node=None, minima=False):
    """Fit a machine to files of samples and, if given, of collectives, as `portolan fit` does. Returns the Machine and a
    list of Fitted."""
    library = _library.load_beside("libportolan-fit")
    with contextlib.ExitStack() as stack:
        read = stack.enter_context(owned(pto_samples_t(), library.pto_samples_fini))
        for path in paths_of(samples):
            call(library.pto_samples_read, os.fsencode(path), ctypes.byref(read))
        options = pto_fit_options_t(minima=minima, inherits=as_bytes(inherits))
        if breaks:
            call(library.pto_fit_breaks_parse, breaks.encode(), ctypes.byref(options))
        if node:
            call(library.pto_fit_node_parse, node.encode(), ctypes.byref(options))
        source = as_bytes(source) or library.pto_samples_provenance(ctypes.byref(read), b"source") or b"portolan fit"
        made = stack.enter_context(owned(pto_fit_t(), library.pto_fit_fini))
        call(library.pto_fit_samples, ctypes.byref(read), name.encode(), source, ctypes.byref(options), ctypes.byref(made))
        if collectives:
            fit_collectives(library, made, collectives)
        content = ctypes.c_void_p()
        call(library.pto_machine_format, made.machine, None, ctypes.byref(content))
        return Machine.from_text(take_text(content), name), [fitted(made.entry[i]) for i in range(made.entry_count)]


def fit_collectives(library, made, paths):
    """Replace the fit's machine by one that was fitted to collectives as well, with the model's error."""
    with owned(pto_collectives_t(), library.pto_collectives_fini) as read:
        for path in paths_of(paths):
            call(library.pto_collectives_read, os.fsencode(path), ctypes.byref(read))
        prices, fitted_to = library.pto_fit_prices_create(), pto_fit_collectives_t()
        try:
            call(library.pto_fit_collectives, made.machine, ctypes.byref(read), None, prices, ctypes.byref(fitted_to))
            library.pto_machine_destroy(made.machine)
            made.machine = fitted_to.machine
            call(library.pto_fit_model_error, made.machine, ctypes.byref(read), None, True, prices)
        finally:
            library.pto_fit_prices_destroy(prices)
