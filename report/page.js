/* The page of `portolan report`: state, tables, curves, sliders. Texts are only ever set as text, since names come
 * from files of anybody. */
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const RANGE = data.range;
const SLIDER_STEPS = 64; /* from 1/RANGE to 1, and from 1 to RANGE */

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

/* A step's calls have the machine that their communicators have, with some parameters a number of times as large. */
for (const panel of data.panels)
  for (const row of panel.rows)
    if (row.calls) {
      row.cells = row.calls.map(call => call.cells.map(cell => ({...cell, v: call.v})));
      row.picks = row.cells.map(cells => cells.reduce((best, cell) => (cell.r === undefined && (!best || cell.s < best.s) ? cell : best), null)?.i ?? -1);
    }

/* --- numbers ------------------------------------------------------------------------------------------------- */

/* Three digits, as the program's tables print them. */
function digits(value) {
  if (value === 0) return "0";
  const places = 2 - Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, Math.min(places, 6)));
}

function timeText(seconds) {
  if (seconds === 0) return "0 s";
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]])
    if (seconds >= size * 0.9995) return `${digits(Number((seconds / size).toPrecision(3)))} ${unit}`;
  return `${digits(Number((seconds * 1e9).toPrecision(3)))} ns`;
}

function sizeText(bytes) {
  let value = bytes;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (value < 1024 || unit === "GiB") return `${Number(value.toPrecision(4))} ${unit}`;
    value /= 1024;
  }
  return String(bytes);
}

/* Four digits, as the program's %.4g. */
function short(value) {
  const size = Math.abs(value), text = value.toPrecision(4);
  if (size > 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(3).replace(/\.?0+e/, "e");
  return String(Number(size >= 1e4 ? value.toPrecision(7) : text));
}

/* With the unit that the parameter's key ends in, as `predict --explain` prints it. */
function valueText(key, value) {
  if (key.endsWith("s_per_byte")) return `${Number((value * 1e12).toPrecision(3))} ps/B`;
  if (key.endsWith("_s")) return timeText(value);
  return key.endsWith("_w") ? `${short(value)} W` : short(value);
}
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* --- state --------------------------------------------------------------------------------------------------- */

const state = {
  panel: 0,
  row: 0,
  column: 0,
  strategy: -1,
  factors: data.sliders.map(() => 1),
};

const sliderParams = data.sliders.map(index => data.params[index]);
const isChanged = () => state.factors.some(factor => factor !== 1);
/* The value that the program has with --what-if KEY=*FACTOR. */
const variables = () => sliderParams.map((param, i) => param.value * state.factors[i]);

/* Strategies by how often they are the cheapest, so that the first letters go to those that matter. */
const order = (() => {
  const wins = data.strategies.map(() => 0);
  for (const panel of data.panels)
    for (const row of panel.rows) for (const pick of row.picks || []) if (pick >= 0) wins[pick]++;
  return data.strategies.map((_, i) => i).sort((a, b) => wins[b] - wins[a] || a - b);
})();
const letterOf = strategy => letters[order.indexOf(strategy) % letters.length];
const nameOf = strategy => data.strategies[strategy].name;
const colorOf = strategy => data.strategies[strategy].color;
const paint = strategy => `background:${colorOf(strategy)};color:${data.strategies[strategy].ink}`;

function xText(panel, column) {
  const value = panel.values[column];
  if (panel.x === "call") return value;
  if (panel.x === "bytes") return sizeText(value);
  return `${value} ${panel.x}`;
}

/* --- prices -------------------------------------------------------------------------------------------------- */

/* A cell's price with the sliders as they are: {seconds, choice, low, high}, or null where it is not known. */
function priceOf(cell, values) {
  if (cell.r !== undefined) return null;
  if (!values) return {seconds: cell.s, choice: cell.a, low: cell.l, high: cell.h};
  const price = Formula.price(cell, scaled(cell, values));
  return price;
}

const scaled = (cell, values) => (cell.v ? values.map((value, i) => value * cell.v[i]) : values);

let prices; /* of the panel, by row, column and position in the cell list */

function reprice() {
  const values = isChanged() ? variables() : null;
  prices = data.panels[state.panel].rows.map(
      row => (row.cells || []).map(cells => cells.map(cell => priceOf(cell, values))));
}

const sameCost = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));

/* {at, unknown}: the position of the cheapest, -1 if there is none, and whether a price that is not known could be
 * cheaper. */
function pick(row, column) {
  const cells = data.panels[state.panel].rows[row].cells[column], found = prices[row][column];
  let at = -1, unknown = false;
  cells.forEach((cell, i) => {
    if (found[i] === null) {
      unknown = unknown || cell.r === undefined;
    } else if (at < 0 || (found[i].seconds < found[at].seconds && !sameCost(found[i].seconds, found[at].seconds))) {
      at = i;
    }
  });
  return {at, unknown};
}

function rangeAt(row, column) {
  return (data.panels[state.panel].rows[row].ranges || []).find(
      ([first, count]) => column >= first && column < first + count);
}

/* --- the map ------------------------------------------------------------------------------------------------- */

function legend() {
  byId("legend").replaceChildren(...order.filter(isShown).map(strategy => make("li", {title: data.strategies[strategy].what},
      make("span", {class: "key", style: paint(strategy)}, letterOf(strategy)),
      nameOf(strategy))));
}

const isShown = strategy => data.panels[state.panel].rows.some(
    row => (row.cells || []).some(cells => cells.some(cell => cell.i === strategy && cell.r === undefined)));

function mapCell(row, column) {
  const panel = data.panels[state.panel];
  const selected = row === state.row && column === state.column;
  const picked = pick(row, column), at = picked.at;
  const attributes = {"data-row": row, "data-column": column, tabindex: selected ? 0 : -1, "aria-selected": selected,
    role: "gridcell"};
  const where = rowLabel(panel, row) + xText(panel, column);
  if (at < 0)
    return make("td", {...attributes, class: "none", "aria-label": `${where}: price not known`}, "?");
  const strategy = panel.rows[row].cells[column][at].i;
  const marks = cellMarks(row, column, picked), words = marks.map(mark => `, ${mark.words}`).join("");
  const base = panel.rows[row].picks[column];
  const seconds = prices[row][column][at].seconds;
  return make("td", {...attributes, style: paint(strategy),
      class: isChanged() && strategy !== base ? "changed" : null,
      title: `${where}: ${nameOf(strategy)}, ${timeText(seconds)}` +
        (isChanged() && strategy !== base && base >= 0 ? ` (before: ${nameOf(base)})` : "") + words,
      "aria-label": `${where}: ${nameOf(strategy)}, ${timeText(seconds)}` + words},
    make("b", {}, [letterOf(strategy), ...marks.map(mark => mark.sign)].join(" ")), make("br"), timeText(seconds));
}

const rowLabel = (panel, row) =>
    panel.rows[row].nodes === undefined || panel.x === "nodes" ? "" : `${nodesText(panel.rows[row].nodes)}, `;
const nodesText = nodes => `${nodes} node${nodes === 1 ? "" : "s"}`;

function drawMap() {
  const panel = data.panels[state.panel];
  const head = make("tr", {role: "row"}, make("td", {class: "none", role: "presentation", style: "cursor:default;background:none"}),
      ...panel.values.map((_, column) => make("th", {scope: "col", role: "columnheader"}, xText(panel, column))));
  const rows = panel.rows.map((row, r) => {
    const label = make("th", {scope: "row", role: "rowheader"}, rowLabel(panel, r).replace(", ", ""));
    const cells = row.cells ? row.cells.map((_, column) => mapCell(r, column))
                            : [make("td", {class: "none", colspan: panel.values.length, role: "gridcell"}, row.reason)];
    return make("tr", {role: "row", class: row.nodes === panel.own && panel.rows.length > 1 ? "own" : null}, label, ...cells);
  });
  const hadFocus = byId("map").contains(document.activeElement);
  byId("map").replaceChildren(make("caption", {class: "unseen"}, `The cheapest strategy of ${panel.title}`),
      make("thead", {role: "rowgroup"}, head), make("tbody", {role: "rowgroup"}, ...rows.reverse()));
  if (hadFocus) byId("map").querySelector("td[tabindex='0']").focus();
}

function select(row, column, strategy) {
  const panel = data.panels[state.panel];
  if (row < 0 || row >= panel.rows.length || !panel.rows[row].cells || column < 0 || column >= panel.values.length)
    return;
  const moved = row !== state.row;
  state.row = row;
  state.column = column;
  if (strategy !== undefined) state.strategy = strategy;
  drawMap();
  if (moved) drawCurves();
  else placeCursor();
  explain();
}

byId("map").addEventListener("click", event => {
  const cell = event.target.closest("td[data-row]");
  if (cell) {
    select(Number(cell.dataset.row), Number(cell.dataset.column), -1);
    byId("map").querySelector("td[tabindex='0']").focus();
  }
});

/* The rows are shown with the most nodes first. */
byId("map").addEventListener("keydown", event => {
  const last = data.panels[state.panel].values.length - 1;
  const to = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0]}[event.key];
  if (to) select(state.row + to[0], state.column + to[1], -1);
  else if (event.key === "Home") select(state.row, 0, -1);
  else if (event.key === "End") select(state.row, last, -1);
  else return;
  event.preventDefault();
});

/* --- the curves ---------------------------------------------------------------------------------------------- */

let chart = null, chartStrategies = [];

function curveOf(strategy, value) {
  const panel = data.panels[state.panel], row = state.row;
  return panel.rows[row].cells.map((cells, column) => {
    const at = cells.findIndex(cell => cell.i === strategy);
    const price = at < 0 ? null : prices[row][column][at];
    return price && price[value] !== undefined && price[value] > 0 ? price[value] : null;
  });
}

/* Measurements are drawn over the lines. */
function measuredPlugin() {
  return {hooks: {draw: u => {
    const points = data.panels[state.panel].rows[state.row].measured || [];
    const context = u.ctx;
    context.save();
    for (const [strategy, x, seconds] of points) {
      const at = data.panels[state.panel].x === "call" ? Number(x) : x;
      const left = u.valToPos(at, "x", true), top = u.valToPos(seconds, "y", true);
      context.strokeStyle = colorOf(strategy);
      context.lineWidth = 1.5 * devicePixelRatio;
      context.beginPath();
      context.arc(left, top, 3.5 * devicePixelRatio, 0, 2 * Math.PI);
      context.stroke();
    }
    context.restore();
  }}};
}

const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* Every power of ten, and with few of them 2 and 5 times these. */
function timeTicks(u, axis, low, high) {
  const ticks = [], few = Math.log10(high / low) < 4;
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const times of few ? [1, 2, 5] : [1])
      if (times * 10 ** power >= low && times * 10 ** power <= high) ticks.push(times * 10 ** power);
  return ticks;
}

function valueTicks(u, axis, low, high, increment, space) {
  const values = data.panels[state.panel].values;
  const room = Math.max(2, Math.floor(u.bbox.width / devicePixelRatio / 70));
  const every = Math.max(1, Math.ceil(values.length / room));
  return values.filter((_, i) => i % every === 0);
}

function chartOptions(width, values) {
  const grid = {stroke: ink("--line"), width: 1};
  const axis = {stroke: ink("--soft"), grid, ticks: grid, font: "12px system-ui, sans-serif"};
  const series = [{}], bands = [];
  chartStrategies.forEach(strategy => {
    const color = colorOf(strategy);
    const line = {label: nameOf(strategy), stroke: color, width: strategy === chosenStrategy() ? 3 : 1.75,
      points: {show: values.length < 40, size: 5, fill: color}, spanGaps: false};
    const bound = {stroke: "transparent", width: 0, points: {show: false}};
    bands.push({series: [series.length + 2, series.length + 1], fill: color + "26"});
    series.push(line, {...bound, label: "low"}, {...bound, label: "high"});
  });
  const single = values.length === 1;
  return {width, height: Math.max(300, Math.min(460, Math.round(width * 0.55))), series, bands,
    legend: {show: false}, cursor: {drag: {x: false, y: false}, points: {show: false}},
    scales: {
      x: {time: false, distr: 3, log: 2, range: single ? [values[0] / 2, values[0] * 2] : [values[0] / 1.15, values[values.length - 1] * 1.15]},
      y: {distr: 3, range: (u, low, high) => low > 0 ? [low / 1.25, high * 1.25] : [1e-6, 1]},
    },
    axes: [{...axis, splits: valueTicks, filter: (u, splits) => splits, size: 34,
        values: (u, splits) => splits.map(split => data.panels[state.panel].x === "bytes" ? sizeText(split) : String(split))},
      {...axis, size: 62, splits: timeTicks, filter: (u, splits) => splits, values: (u, splits) => splits.map(split => timeText(split).replace(/\.0+ /, " "))}],
    plugins: [measuredPlugin()]};
}

function drawCurves() {
  const panel = data.panels[state.panel], holder = byId("curves");
  if (chart) chart.destroy();
  chart = null;
  byId("curves-section").hidden = panel.x === "call" || !panel.rows[state.row].cells;
  if (byId("curves-section").hidden) return;
  byId("curves-title").textContent = panel.x === "nodes" ? "Time by nodes" : `Time on ${nodesText(panel.rows[state.row].nodes)}`;
  chartStrategies = order.filter(strategy => panel.rows[state.row].cells.some(cells => cells.some(cell => cell.i === strategy && cell.r === undefined)));
  const columns = [panel.values];
  chartStrategies.forEach(strategy => columns.push(curveOf(strategy, "seconds"), curveOf(strategy, "low"), curveOf(strategy, "high")));
  chart = new uPlot(chartOptions(holder.clientWidth, panel.values), columns, holder);
  chart.over.addEventListener("click", event => chooseNearest(event));
  placeCursor();
}

/* The point and the strategy next to a click. */
function chooseNearest(event) {
  const panel = data.panels[state.panel], box = chart.over.getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  let column = 0, strategy = -1, nearest = Infinity;
  panel.values.forEach((value, i) => {
    const here = chart.valToPos(value, "x");
    if (Math.abs(here - x) < Math.abs(chart.valToPos(panel.values[column], "x") - x)) column = i;
  });
  chartStrategies.forEach(candidate => {
    const seconds = curveOf(candidate, "seconds")[column];
    const distance = seconds === null ? Infinity : Math.abs(chart.valToPos(seconds, "y") - y);
    if (distance < nearest) [nearest, strategy] = [distance, candidate];
  });
  select(state.row, column, strategy);
}

function placeCursor() {
  if (!chart) return;
  const strategy = chosenStrategy();
  const seconds = strategy < 0 ? null : curveOf(strategy, "seconds")[state.column];
  chart.setCursor({left: chart.valToPos(data.panels[state.panel].values[state.column], "x"),
    top: seconds === null ? -10 : chart.valToPos(seconds, "y")}, false);
  chart.series.forEach((series, i) => {
    if (i % 3 === 1) series.width = (chartStrategies[(i - 1) / 3] === strategy ? 3.2 : 1.75) * devicePixelRatio;
  });
  chart.redraw(true, false);
}

byId("curves").addEventListener("keydown", event => {
  const step = {ArrowLeft: -1, ArrowRight: 1}[event.key], turn = {ArrowUp: 1, ArrowDown: -1}[event.key];
  if (step) {
    select(state.row, state.column + step, chosenStrategy());
  } else if (turn) {
    const listed = listPoint().filter(item => item.price);
    const at = listed.findIndex(item => item.cell.i === chosenStrategy());
    const next = listed[Math.max(0, Math.min(listed.length - 1, at + turn))];
    if (next) select(state.row, state.column, next.cell.i);
  } else {
    return;
  }
  event.preventDefault();
});

/* --- a point ------------------------------------------------------------------------------------------------- */

/* The strategies of the chosen point, the cheapest first. */
function listPoint() {
  const row = data.panels[state.panel].rows[state.row];
  if (!row.cells) return [];
  const found = prices[state.row][state.column];
  const listed = row.cells[state.column].map((cell, i) => ({cell, price: found[i]}));
  const cost = item => (item.price ? item.price.seconds : item.cell.r === undefined ? 1e300 : Infinity);
  return listed.sort((a, b) => cost(a) - cost(b) || 0);
}

/* The strategy that is explained: the one chosen, else the cheapest. */
function chosenStrategy() {
  const row = data.panels[state.panel].rows[state.row];
  if (!row.cells) return -1;
  if (row.cells[state.column].some(cell => cell.i === state.strategy)) return state.strategy;
  const at = pick(state.row, state.column).at;
  return at < 0 ? row.cells[state.column][0].i : row.cells[state.column][at].i;
}

function measuredAt(strategy) {
  const panel = data.panels[state.panel], value = panel.values[state.column];
  return (panel.rows[state.row].measured || []).filter(([s, x]) => s === strategy && x === value).map(([, , seconds]) => seconds).sort((a, b) => a - b);
}

function strategyRow(item, best, hasMeasured, changed) {
  const {cell, price} = item, chosen = cell.i === chosenStrategy();
  const choose = make("button", {type: "button", "data-strategy": cell.i, title: data.strategies[cell.i].what}, nameOf(cell.i));
  const cells = [make("td", {}, make("span", {class: "key", style: paint(cell.i)}, letterOf(cell.i)), " ", choose)];
  const width = 3 + (hasMeasured ? 1 : 0) + (changed ? 1 : 0);
  if (!price) {
    cells.push(make("td", {class: "reason", colspan: width + 1}, cell.r !== undefined ? `does not apply: ${cell.r}`
      : cell.n !== undefined ? `not priced in this page: ${cell.n}; the command under the sliders does`
        : "not priced in this page with these values; the command under the sliders does"));
  } else {
    const interval = price.low !== undefined ? `${timeText(price.low)} to ${timeText(price.high)}` : "";
    const measured = measuredAt(cell.i);
    cells.push(make("td", {class: "n", "data-seconds": price.seconds}, timeText(price.seconds)),
      changed ? make("td", {class: "n"}, timeText(cell.s)) : null,
      make("td", {class: "n"}, best > 0 ? `${(price.seconds / best).toFixed(2)} x` : ""),
      make("td", {class: "n"}, interval),
      hasMeasured ? make("td", {class: "n"}, measured.length ? timeText(measured[Math.floor(measured.length / 2)]) : "") : null,
      make("td", {}, price.choice + (cell.x !== undefined ? `, extrapolated from ${cell.x}` : "")));
  }
  return make("tr", {"aria-selected": chosen}, ...cells);
}

function explain() {
  const panel = data.panels[state.panel], listed = listPoint(), changed = isChanged();
  const hasMeasured = (panel.rows[state.row].measured || []).length > 0;
  const best = listed.length && listed[0].price ? listed[0].price.seconds : 0;
  byId("point-title").textContent = `${rowLabel(panel, state.row)}${xText(panel, state.column)}`;
  const heads = ["Strategy", "Time", changed ? "As it is" : null, "To the cheapest", "95 percent interval", hasMeasured ? data.command[0] === "score" ? "Measured" : "Measured (median)" : null, "Plan"];
  byId("strategies").replaceChildren(
    make("caption", {class: "unseen"}, "Strategies at this point, the cheapest first"),
    make("thead", {}, make("tr", {}, ...heads.filter(head => head !== null).map((head, i, all) => make("th", {scope: "col", class: i > 0 && i < all.length - 1 ? "n" : null}, head)))),
    make("tbody", {}, ...listed.map(item => strategyRow(item, best, hasMeasured, changed))));
  explainTerms(listed.find(item => item.cell.i === chosenStrategy()), changed);
}

byId("strategies").addEventListener("click", event => {
  const choose = event.target.closest("button");
  if (!choose) return;
  select(state.row, state.column, Number(choose.dataset.strategy));
  byId("strategies").querySelector(`button[data-strategy="${choose.dataset.strategy}"]`).focus();
});

const fileName = path => (path || "").split("/").pop();

function placeText(param) {
  return param.line === undefined ? "what if" : `${param.file || fileName(data.file)}:${param.line}`;
}

/* Stage, parameter and count of each addend of the price. */
function termRow(cell, at) {
  const [stage, index, count] = cell.t.slice(at, at + 3), param = data.params[index];
  if (param.value === undefined)
    return make("tr", {}, make("td", {class: "n"}, "-"), make("td", {}), make("td", {}, data.stages[stage]), make("td", {class: "n"}, short(count)),
      make("td", {}, make("code", {}, param.key)), make("td", {colspan: 2}, "not in the machine file, not priced"));
  const value = param.value, seconds = count * value, share = cell.s > 0 ? seconds / cell.s : 0;
  return make("tr", {}, make("td", {class: "n", "data-seconds": seconds}, (seconds * 1e6).toFixed(3)),
    make("td", {class: "n"}, `${(100 * share).toFixed(1)}% `, make("span", {class: "bar", "aria-hidden": "true", style: `width:${Math.max(0, 4 * share).toFixed(2)}em`})),
    make("td", {}, data.stages[stage]), make("td", {class: "n"}, short(count)),
    make("td", {}, make("code", {}, param.key), param.flagged !== undefined ? make("span", {class: "flagged", title: param.flagged}, " flagged") : null),
    make("td", {class: "n"}, valueText(param.key, value)), make("td", {}, placeText(param)));
}

function explainTerms(item, changed) {
  const cell = item ? item.cell : null;
  byId("terms-title").textContent = cell && cell.s !== undefined ? `${nameOf(cell.i)}: why ${timeText(cell.s)}` : "";
  byId("terms-note").textContent = !cell || cell.s === undefined ? ""
    : "The critical path: each addend is a count times a parameter of the machine file." +
      (changed ? " With the machine as it is, without the sliders." : "");
  if (!cell || cell.s === undefined) {
    byId("terms").replaceChildren();
    return;
  }
  const rows = [];
  for (let at = 0; at < cell.t.length; at += 3) rows.push(termRow(cell, at));
  const heads = [["us", "n"], ["Share", "n"], ["Stage"], ["Count", "n"], ["Parameter"], ["Value", "n"], ["Where"]];
  byId("terms").replaceChildren(make("caption", {class: "unseen"}, byId("terms-title").textContent),
    make("thead", {}, make("tr", {}, ...heads.map(([head, kind]) => make("th", {scope: "col", class: kind}, head)))), make("tbody", {}, ...rows));
  announce();
}

function announce() {
  const panel = data.panels[state.panel], at = chosenStrategy();
  const item = listPoint().find(listed => listed.cell.i === at);
  byId("live").textContent = `${rowLabel(panel, state.row)}${xText(panel, state.column)}: ` +
    (item && item.price ? `${nameOf(at)}, ${timeText(item.price.seconds)}` : "price not known");
}

/* --- sliders ------------------------------------------------------------------------------------------------- */

const factorOf = position => position === 0 ? 1 : Math.pow(RANGE, position / SLIDER_STEPS);
const factorText = factor => factor >= 1 ? `x ${factor.toPrecision(3)}` : `/ ${(1 / factor).toPrecision(3)}`;
let pending = 0;

function showSlider(i) {
  const input = byId(`slider-${i}`), value = sliderParams[i].value * state.factors[i];
  const text = `${valueText(sliderParams[i].key, value)}${state.factors[i] === 1 ? "" : ` (${factorText(state.factors[i])})`}`;
  byId(`value-${i}`).textContent = text;
  input.setAttribute("aria-valuetext", text);
  input.parentElement.classList.toggle("moved", state.factors[i] !== 1);
}

function refresh() {
  reprice();
  showTotal();
  drawMap();
  drawCurves();
  explain();
  byId("changed").hidden = !isChanged();
  byId("command").textContent = commandText();
}

function setFactor(i, factor) {
  state.factors[i] = factor;
  showSlider(i);
  if (!pending) pending = requestAnimationFrame(() => {
    pending = 0;
    refresh();
  });
}

const quoted = text => (/^[\w.\/:,+-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

/* What the sliders ask, asked of the program. */
function commandText() {
  const panel = data.panels[state.panel], row = panel.rows[state.row];
  const parts = ["portolan", ...data.command.map(quoted)];
  if (data.command[0] === "predict" && panel.x === "bytes" && row.nodes !== panel.own) parts.push("--nodes", String(row.nodes));
  sliderParams.forEach((param, i) => {
    if (state.factors[i] !== 1) parts.push("--what-if", `'${param.key}=*${state.factors[i]}'`);
  });
  return parts.join(" ");
}

function makeSliders() {
  byId("what-if").hidden = sliderParams.length === 0;
  byId("sliders").replaceChildren(...sliderParams.map((param, i) => {
    const input = make("input", {type: "range", id: `slider-${i}`, min: -SLIDER_STEPS, max: SLIDER_STEPS, step: 1, value: 0});
    input.addEventListener("input", () => setFactor(i, factorOf(Number(input.value))));
    input.addEventListener("dblclick", () => {
      input.value = 0;
      setFactor(i, 1);
    });
    return make("div", {class: "slider"}, make("label", {for: `slider-${i}`, title: placeText(param)}, param.key),
      make("output", {id: `value-${i}`, for: `slider-${i}`}), input);
  }));
  sliderParams.forEach((_, i) => showSlider(i));
}

byId("reset").addEventListener("click", () => {
  state.factors = state.factors.map(() => 1);
  sliderParams.forEach((_, i) => {
    byId(`slider-${i}`).value = 0;
    showSlider(i);
  });
  refresh();
});

/* --- the page ------------------------------------------------------------------------------------------------ */

function choosePanel(index) {
  const panel = data.panels[index];
  state.panel = index;
  state.strategy = -1;
  state.row = Math.max(0, panel.rows.findIndex(row => row.nodes === panel.own && row.cells));
  state.column = Math.floor((panel.values.length - 1) / 2);
  byId("panels").querySelectorAll("button").forEach((button, i) => button.setAttribute("aria-pressed", i === index));
  legend();
  refresh();
}

function placesText() {
  const several = (count, one) => `${count} ${one}${count === 1 ? "" : one.endsWith("s") ? "es" : "s"}`;
  if (data.in_host) return `${several(data.gpus_per_node, "process")} a node, data in host memory`;
  return `${several(data.gpus_per_node, "GPU")} a node, ${several(data.procs_per_gpu, "process")} a GPU`;
}

function begin() {
  const title = data.title || data.collective;
  document.title = `${title} - portolan report`;
  byId("title").textContent = title;
  byId("question").textContent = `${data.machine} (${data.file}${data.source ? `; ${data.source}` : ""})` +
    (data.collective ? `, ${data.collective}, ${placesText()}` : "");
  byId("notes").textContent = [data.model ? `Model: ${data.model}.` : "", data.what_if ? `Changed: ${data.what_if.trim().replace(/\n/g, "; ")}.` : "", ...(data.notes || [])].filter(text => text).join(" ");
  byId("footer").textContent = `portolan ${data.version}. This page has all of its data inside and asks no server for anything.`;
  if (data.panels.length > 1) {
    byId("panels").hidden = false;
    byId("panels").replaceChildren(...data.panels.map((panel, i) => {
      const button = make("button", {type: "button"}, panel.title);
      button.addEventListener("click", () => choosePanel(i));
      return button;
    }));
  }
  makeSliders();
  choosePanel(0);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCurves);
  matchMedia("print").addEventListener("change", drawCurves);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) drawCurves();
    width = innerWidth;
  });
}

begin();
