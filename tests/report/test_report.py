#!/usr/bin/env python3
"""The pages of `portolan report` in a real browser: what they show and compute is what the program prints.

Usage: test_report.py PORTOLAN [FOLDER]. With FOLDER, pictures of the pages are kept there. Exits 77 where there is no
Chromium (CHROMIUM names one)."""
import json
import os
import random
import subprocess
import sys
import tempfile

from browser import Page, find_browser

PORTOLAN = sys.argv[1] if len(sys.argv) > 1 else "build/portolan"
KEEP = sys.argv[2] if len(sys.argv) > 2 else None

# Machines measured and published, with and without queued copies, pipelines, and NCCL.
QUESTIONS = {
    "summit": ["scenarios/problems/alltoall-summit-measured.yaml", "--bytes", "64:1MiB:16", "--rows", "4:8"],
    "h200": ["--machine", "h200-x4", "--collective", "allreduce", "--nodes", "1", "--bytes", "1KiB:16MiB:16"],
    "lassen": ["--machine", "lassen-spectrum-refit", "--collective", "allreduce", "--nodes", "16", "--bytes", "256:1MiB:16", "--rows", "16:64:4"],
    "nccl": ["--machine", "h200-x4", "--collective", "allreduce", "--nodes", "4", "--bytes", "1KiB:64MiB:64", "--strategy", "nccl", "--rows", "4:16:4", "--what-if", "injection.gpu.s_per_byte=25 GB/s"],
    "cpus": ["--machine", "cpu-2x64-200g", "--collective", "alltoall", "--nodes", "4", "--procs-per-node", "8", "--bytes", "64:1MiB:32"],
    "pair": ["--machine", "summit-spectrum", "--collective", "messages", "--nodes", "2", "--messages", "1:64:4", "--bytes", "16KiB"],
}
TOLERANCE = 1e-9

failures = []
checks = 0


def check(holds, text):
    global checks
    checks += 1
    if not holds:
        failures.append(text)
        print("FAILED:", text, flush=True)


def portolan(*arguments):
    done = subprocess.run([PORTOLAN, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{arguments}: {done.stderr}")
    return done.stdout


def make_report(folder, name, arguments):
    path = os.path.join(folder, name + ".html")
    portolan("report", *arguments, "--out", path)
    return path


def without_rows(arguments):
    return [word for i, word in enumerate(arguments) if word != "--rows" and arguments[i - 1:i] != ["--rows"]]


def predicted(arguments, nodes, what_ifs):
    """{(value, strategy): prediction} as `predict` prints it. Its JSON has nine digits, the terms' counts all."""
    words = [w for w in without_rows(arguments)]
    if "--nodes" in words:
        words[words.index("--nodes") + 1] = str(nodes)
    else:
        words += ["--nodes", str(nodes)]
    for change in what_ifs:
        words += ["--what-if", change]
    found = json.loads(portolan("predict", *words, "--format", "json"))["predictions"]
    return {(next(p[x] for x in ("bytes", "nodes", "messages") if x in p), p["strategy"]): p for p in found}


def shown(page):
    """What the page has computed, of all rows: [[nodes, value, strategy, seconds or None, choice, whether it applies, and has formulas]]."""
    return page.run("""data.panels[state.panel].rows.flatMap((row, r) => (row.cells || []).flatMap((cells, c) => cells.map((cell, i) =>
        [row.nodes, data.panels[state.panel].values[c], nameOf(cell.i), prices[r][c][i] && prices[r][c][i].seconds,
         prices[r][c][i] && prices[r][c][i].choice, cell.r === undefined, cell.n === undefined])))""")


def compare(page, name, arguments, what_ifs):
    """Every price of the page with the program's, which prints nine digits. Returns how many are not known, how many have no
    formula at all, and how many are compared."""
    unknown = refused = compared = 0
    by_nodes = {}
    for nodes, value, strategy, seconds, choice, applies, has_formula in shown(page):
        if nodes not in by_nodes:
            by_nodes[nodes] = predicted(arguments, nodes, what_ifs)
        program = by_nodes[nodes][(value, strategy)]
        where = f"{name} {what_ifs}: {strategy} at {value} on {nodes} nodes"
        if not applies:
            check("seconds" not in program or program["seconds"] is None, f"{where}: does not apply in the page")
            continue
        if seconds is None:
            refused += not has_formula
            unknown += has_formula
            continue
        compared += 1
        # half a unit of the ninth digit on top
        difference = abs(seconds - program["seconds"]) / program["seconds"]
        check(difference <= TOLERANCE + 5e-9, f"{where}: {seconds!r}, not {program['seconds']!r}")
        same_plan = choice.split(",")[0] == program["algorithm"]
        check(same_plan or what_ifs, f"{where}: {choice}, not {program['algorithm']}")
    check(compared > 0, f"{name} {what_ifs}: nothing is compared")
    return unknown, refused, compared


def move_slider(page, index, position):
    page.run(f"(() => {{ const s = byId('slider-{index}'); s.value = {position}; s.dispatchEvent(new Event('input')); }})()")
    page.settle()


def changes_of(page):
    return page.run("sliderParams.flatMap((p, i) => state.factors[i] === 1 ? [] : [p.key + '=*' + state.factors[i]])")


def check_prices(page, name, arguments):
    unknown, refused, _ = compare(page, name, arguments, [])
    check(unknown + refused == 0, f"{name}: {unknown} prices are not known without a change")
    chance = random.Random(1)
    sliders = page.run("sliderParams.length")
    check(sliders > 0, f"{name}: no sliders")
    lost = refused = compared = 0
    for moved in ([0], [1 % sliders], [2 % sliders], [sliders - 1], [0, 1 % sliders, 3 % sliders]):
        page.run("byId('reset').click()")
        for index in moved:
            move_slider(page, index, chance.choice([-64, -40, -16, 9, 23, 64]))
        here = compare(page, name, arguments, changes_of(page))
        lost += here[0]
        refused += here[1]
        compared += here[2]
    if name == "nccl":  # beyond what was measured: each cell has formulas
        check(compared > 20 and refused == 0, f"nccl: {compared} prices, {refused} without a formula")
    print(f"# {name}: {compared} prices with sliders moved are the program's, {lost} are not known, {refused} have no formula", flush=True)
    check(refused * 4 <= compared, f"{name}: {refused} of {refused + compared} prices have no formula")
    check(lost * 10 <= compared, f"{name}: {lost} of {lost + compared} prices are not known with sliders moved")
    page.run("byId('reset').click()")
    page.settle()
    compare(page, name, arguments, [])


def check_terms(page, name, arguments):
    """The terms of a click are those of --explain, with file and line."""
    last = page.run("data.panels[0].values.length - 1")
    row = page.run("data.panels[0].rows.length - 1")
    page.click(f"td[data-row='{row}'][data-column='{last}']")
    check(page.run("state.column") == last and page.run("state.row") == row, f"{name}: a click does not choose its cell")
    nodes, value = page.run("data.panels[0].rows[state.row].nodes"), page.run("data.panels[0].values[state.column]")
    words = without_rows(arguments)
    if "--nodes" in words:
        words[words.index("--nodes") + 1] = str(nodes)
    else:
        words += ["--nodes", str(nodes)]
    cells = json.loads(portolan("predict", *words, "--explain", "--format", "json"))["predictions"]
    for strategy in page.run("data.panels[0].rows[state.row].cells[state.column].filter(c => c.r === undefined).map(c => c.i)"):
        page.click(f"#strategies button[data-strategy='{strategy}']")
        label = page.run(f"nameOf({strategy})")
        check(page.run("byId('terms-title').textContent").startswith(label + ":"), f"{name}: {label} is not explained")
        cell = next(c for c in cells if value in (c.get("bytes"), c.get("messages"), c.get("nodes")) and c["strategy"] == label)
        terms = [t for t in cell["terms"] if t["value"] is None or t["count"] != 0]
        table = page.run("[...byId('terms').tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))")
        check(len(table) == len(terms), f"{name}: {label} has {len(table)} terms, not {len(terms)}")
        for line, term in zip(table, terms):
            where = f"{name}: {label}: {line} is not {term}"
            check(line[2] == term["stage"] and line[4].startswith(term["parameter"]), where)
            if term["value"] is None:
                check("not priced" in line[5], where)
                continue
            check(abs(float(line[0]) - term["seconds"] * 1e6) <= 5.1e-4, where)
            check(line[6].endswith(f":{term['line']}") if term["line"] else line[6] == "what if", where)
            check((" flagged" in line[4]) == ("flagged" in term), where)


def check_keys(page, name):
    columns = page.run("data.panels[0].values.length")
    page.run("document.querySelector('#map td[tabindex=\"0\"]').focus()")
    page.press("Home")
    check(page.run("state.column") == 0, f"{name}: Home")
    page.press("ArrowLeft")
    check(page.run("state.column") == 0, f"{name}: the arrow at the edge")
    page.press("ArrowRight")
    check(page.run("state.column") == 1, f"{name}: the right arrow")
    check(page.run("document.activeElement.getAttribute('aria-selected')") == "true", f"{name}: the focus does not follow")
    page.press("End")
    check(page.run("state.column") == columns - 1, f"{name}: End")
    row = page.run("state.row")
    page.press("ArrowDown" if row > 0 else "ArrowUp")
    check(abs(page.run("state.row") - row) == (1 if page.run("data.panels[0].rows.length") > 1 else 0), f"{name}: rows")
    live = page.run("byId('live').textContent")
    check("us" in live or "ms" in live or " s" in live, f"{name}: nothing is announced: {live}")
    page.run("byId('curves').focus()")
    before, chosen = page.run("state.column"), page.run("chosenStrategy()")
    page.press("ArrowLeft")
    check(page.run("state.column") == before - 1, f"{name}: the arrow on the curves")
    check(page.run("chosenStrategy()") == chosen, f"{name}: the strategy changes along the axis")
    ranks = "listPoint().findIndex(item => item.cell.i === chosenStrategy())"
    rank, known = page.run(ranks), page.run("listPoint().filter(item => item.price).length")
    page.press("ArrowUp" if rank < known - 1 else "ArrowDown")
    check(known < 2 or abs(page.run(ranks) - rank) == 1, f"{name}: from strategy to strategy")
    # Tab reaches everything, in the order of the page.
    page.run("scrollTo(0, 0)")
    page.click_at(3, 3)
    reached = []
    for _ in range(60):
        page.press("Tab")
        at = page.run("document.activeElement.closest('[id]') && document.activeElement.closest('[id]').id")
        if at in (None, "") or at in reached and at not in ("strategies",):
            break
        if at not in reached:
            reached.append(at)
    check("map" in reached and "curves" in reached and "slider-0" in reached and "strategies" in reached, f"{name}: Tab reaches {reached}")
    in_order = [at for at in ("map", "curves", "slider-0", "reset", "strategies") if at in reached]
    check([at for at in reached if at in in_order] == in_order, f"{name}: the order of Tab is {reached}")
    page.run("document.querySelector('#slider-0').focus()")
    page.press("ArrowRight")
    check(page.run("state.factors[0]") > 1, f"{name}: a slider by the keyboard")
    check(page.run("!byId('changed').hidden && byId('command').textContent.includes('--what-if')"), f"{name}: no command")
    unnamed = page.run("[...document.querySelectorAll('button, input, [tabindex=\"0\"]')].filter(e => !(e.textContent.trim() || e.labels && e.labels.length || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby'))).length")
    check(unnamed == 0, f"{name}: {unnamed} controls have no name")
    page.run("byId('reset').click()")
    page.settle()


def check_curves(page, name):
    """A click on a line chooses its point."""
    page.run("byId('curves').scrollIntoView({block: 'center'})")
    page.settle()
    spot = page.run("""(() => { const s = chartStrategies[chartStrategies.length - 1], b = chart.over.getBoundingClientRect();
        const y = curveOf(s, 'seconds')[1];
        return y === null ? null : [b.x + chart.valToPos(data.panels[0].values[1], 'x'), b.y + chart.valToPos(y, 'y'), s]; })()""")
    if spot is None:
        return
    page.click_at(spot[0], spot[1])
    check(page.run("state.column") == 1, f"{name}: a click on the curves chooses column {page.run('state.column')}")
    seconds = page.run("listPoint().find(item => item.cell.i === chosenStrategy()).price.seconds")
    wanted = page.run(f"curveOf({spot[2]}, 'seconds')[1]")
    check(abs(seconds / wanted - 1) < 0.05, f"{name}: a click on the curves chooses another line")


def brightness(page):
    values = page.run("getComputedStyle(document.documentElement).backgroundColor").strip("rgb()").split(",")
    return sum(float(value) for value in values[:3]) / 3


def check_looks(page, name, folder):
    for scheme, holds in (("light", lambda value: value > 200), ("dark", lambda value: value < 60)):
        page.media(scheme)
        check(holds(brightness(page)), f"{name}: the background in {scheme}")
        for width, height in ((1280, 800), (390, 844)):
            page.resize(width, height)
            page.settle()
            wide = page.run("document.documentElement.scrollWidth")
            check(wide <= width, f"{name}: {wide} pixels wide on {width}")
            if folder:
                page.screenshot(os.path.join(folder, f"{name}-{scheme}-{width}.png"), whole=True)
    page.media("dark", "print")
    check(brightness(page) > 200, f"{name}: prints dark")
    page.media("light")
    page.resize(1280, 800)
    # black or white text on each color, as WCAG counts contrast
    least = page.run("""(() => { const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
        return Math.min(...[...document.querySelectorAll('.key')].map(e => { const s = getComputedStyle(e), a = light(s.color), b = light(s.backgroundColor);
          return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); })); })()""")
    check(least >= 4.5, f"{name}: text on a color has a contrast of {least:.2f}")


def check_alone(page, name, path):
    outside, asked = page.requests()
    check(not outside, f"{name}: asks for {outside}")
    check(len(asked) == 1, f"{name}: asks for {asked}")
    check(not page.faults(), f"{name}: {page.faults()}")
    size = os.path.getsize(path)
    check(size < 6 << 20, f"{name}: {size} bytes")


def check_total(page, program):
    """What the page says that the step takes is what the program prints, or it says that it does not know."""
    text = page.run("byId('total').textContent")
    shown = page.run("(() => { const found = prices[0].map((_, c) => pick(0, c)).map((p, c) => p.at < 0 || p.unknown ? null : prices[0][c][p.at].seconds);"
                     " return isChanged() ? StepTotal.add(data.step.entries, found) : data.step.own })()")
    check(page.run("!byId('total').hidden"), "step: the total is hidden")
    if shown is None:
        check("not known" in text, f"step: {text}")
        return 0
    mix = next(total for total in program["totals"] if total["strategy"] == "cheapest")
    for name, seconds in zip(("communication_s", "exposed_s", "step_s"), shown):
        check(abs(seconds - mix[name]) <= (TOLERANCE + 5e-9) * mix[name] + 1e-15, f"step {name}: {seconds}, not {mix[name]}")
    check(page.run(f"timeText({shown[2]})") in text, f"step: {text} does not say {shown[2]}")
    return 1


def shown_marks(page):
    """The signs of the map's cells, by column."""
    texts = page.run("[...document.querySelectorAll('#map td[data-row=\"0\"]')].map(cell => cell.querySelector('b').textContent.split(' ').slice(1))")
    return [set(signs) for signs in texts]


def check_marks(page, name, calls):
    """The map marks what `step` marks."""
    shown = shown_marks(page)
    check(len(shown) == len(calls), f"{name}: {len(shown)} cells, not {len(calls)}")
    for call, signs in zip(calls, shown):
        where = f"{name}: {call['call']}: {sorted(signs)}"
        together = call.get("chosen_together", False)
        check(("&" in signs) == together, where)
        if call["unpriced"] or not together:  # of calls at once, the page shows what is the cheapest alone
            check(("?" in signs) == (call["unpriced"] is not None), where)
        if not together:
            check(("*" in signs) == call.get("extrapolated", False), where)
    return set().union(*shown)


def check_same_marks(page, folder):
    """A step of one call has the marks of the same call as a scenario, which are those of `pick`."""
    cases = [("summit-spectrum", "allreduce", "64KiB", {"≈", "?"}), ("dgx-h100", "allreduce", "1MiB", {"*"})]
    for machine, collective, size, least in cases:
        workload = os.path.join(folder, "one.yaml")
        with open(workload, "w") as file:
            file.write(f"workload: one call\nmachine: {machine}\nlayout: {{nodes: 2}}\nstep:\n"
                       f"  - {{collective: {collective}, bytes: {size}}}\n")
        page.open(make_report(folder, machine + "-step", [workload]))
        step = shown_marks(page)
        check_marks(page, machine, json.loads(portolan("step", workload, "--format", "json"))["calls"])
        page.open(make_report(folder, machine, ["--machine", machine, "--collective", collective, "--nodes", "2", "--bytes", size, "--rows", "2"]))
        check(step == shown_marks(page), f"{machine}: {step} of a step, {shown_marks(page)} of a scenario")
        check(step and least <= step[0], f"{machine}: {step} lack some of {least}")


def check_step(page, folder, name):
    """The calls of a step, whose machines share NICs and memory, with and without a slider moved; and its total."""
    workload = f"scenarios/workloads/{name}.yaml"
    path = make_report(folder, name, [workload])
    page.open(path)
    check_alone(page, name, path)
    compared = totals = 0
    for moved in ([], [0], [1], [0, 2]):
        page.run("byId('reset').click()")
        for index in moved:
            move_slider(page, index, 20)
        changes = [word for change in changes_of(page) for word in ("--what-if", change)]
        program = json.loads(portolan("step", workload, *changes, "--format", "json"))
        totals += check_total(page, program)
        calls = [call for call in program["calls"] if "predictions" in call]
        shown_calls = page.run("prices[0].map((found, c) => found.map((price, i) => [nameOf(data.panels[0].rows[0].cells[c][i].i), price && price.seconds]))")
        check(len(calls) == len(shown_calls), f"step: {len(shown_calls)} calls, not {len(calls)}")
        if not moved:
            marks = check_marks(page, name, calls)
            check({"fft-3d": "≈", "stencil-cg": "?", "fsdp": "&"}[name] in marks, f"{name}: marks {marks}")
        for call, found in zip(calls, shown_calls):
            program = {p["strategy"]: p.get("seconds") for p in call["predictions"]}
            for strategy, seconds in found:
                if seconds is not None:
                    compared += 1
                    check(abs(seconds - program[strategy]) <= (TOLERANCE + 5e-9) * program[strategy], f"step {changes}: {strategy}: {seconds}, not {program[strategy]}")
    check(compared > 10, f"{name}: {compared} prices are compared")
    check(totals > (0 if name == "fsdp" else 1), f"{name}: {totals} totals are compared")  # fsdp has calls at once
    print(f"# {name}: {compared} prices and {totals} totals are the program's", flush=True)


def check_measured(page, folder):
    """A file's measurements are the points of the page."""
    source = "validate/results/h200-x4/collectives.csv"
    path = make_report(folder, "measured", ["--machine", "h200-x4", source])
    page.open(path)
    check_alone(page, "measured", path)
    cells = json.loads(portolan("score", "--machine", "h200-x4", source, "--cells", "--in-sample", "--format", "json"))
    cells = cells["cells"] if isinstance(cells, dict) else cells
    points = page.run("data.panels.flatMap(p => p.rows.flatMap(r => (r.measured || []).map(m => [p.title.split(',')[0], r.nodes, m[1], nameOf(m[0]), m[2]])))")
    check(len(points) > 100, f"measured: {len(points)} points")
    program = {}
    for cell in cells:
        for candidate in cell.get("strategies", cell.get("candidates", [])):
            program.setdefault((cell["collective"], cell["nodes"], cell["bytes"], candidate["strategy"]), []).append(candidate["measured_s"])
    for collective, nodes, size, strategy, seconds in points:
        known = program.get((collective.split()[0], nodes, size, strategy), [])
        check(any(abs(seconds / other - 1) < 1e-6 for other in known), f"measured: {strategy} of {collective} at {size}: {seconds}, not {known}")


HOSTILE = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>&amp;<!--<script>"


def check_hostile(page, folder):
    """Names in machine and scenario files are anybody's: they are shown as they are, and do nothing."""
    with open("scenarios/machines/summit-spectrum.yaml") as file:
        text = file.read()
    lines = [line for line in text.splitlines() if not line.startswith(("machine:", "source:"))]
    quoted = json.dumps(HOSTILE)
    machine, scenario = os.path.join(folder, "hostile.yaml"), os.path.join(folder, "question.yaml")
    with open(machine, "w") as file:
        file.write(f"machine: {quoted}\nsource: {quoted}\n" + "\n".join(lines) + "\n")
    with open(scenario, "w") as file:
        file.write(f"scenario: {quoted}\nmachine: {machine}\ncollective: alltoall\nlayout: {{nodes: 4, gpus_per_node: 6, procs_per_gpu: 6}}\n"
                   "bytes: [1024, 65536]\n")
    path = make_report(folder, "hostile", [scenario, "--rows", "4"])
    with open(path) as file:
        page_text = file.read()
    check(HOSTILE not in page_text, "hostile: the name stands in the page as it is")
    page.open(path)
    check(page.run("window.hurt") is None, "hostile: a name is run")
    check(page.run("byId('title').textContent") == HOSTILE, "hostile: the title is not the scenario's name")
    check(page.run("document.images.length") == 0, "hostile: a name makes an element")
    check_alone(page, "hostile", path)


def main():
    if not find_browser():
        print("skipped: no Chromium; `make deps-all` installs it, and CHROMIUM names another one")
        return 77
    if KEEP:
        os.makedirs(KEEP, exist_ok=True)
    page = Page()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name, arguments in QUESTIONS.items():
                path = make_report(folder, name, arguments)
                page.open(path)
                check_alone(page, name, path)
                check_prices(page, name, arguments)
                check_terms(page, name, arguments)
                check_curves(page, name)
                check_keys(page, name)
                check_looks(page, name, KEEP)
                check(not page.requests()[0], f"{name}: asks for {page.requests()[0]} when it is used")
                check(not page.faults(), f"{name}: {page.faults()}")
            check_step(page, folder, "fft-3d")
            check_step(page, folder, "stencil-cg")
            check_step(page, folder, "fsdp")
            check_same_marks(page, folder)
            check_measured(page, folder)
            check_hostile(page, folder)
    finally:
        page.close()
    print(f"report: {checks - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
