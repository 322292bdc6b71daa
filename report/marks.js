/* The marks of a cell of the map: {sign, words}, as `portolan pick` and `portolan step` print them. What the
 * sliders change is not known of near-ties, overlaps and of routes that were chosen together: these are of the machine as it is. */
function cellMarks(row, column, picked) {
  const panel = data.panels[state.panel], range = rangeAt(row, column), cell = panel.rows[row].cells[column][picked.at];
  const call = panel.rows[row].calls && panel.rows[row].calls[column], [taken, unsure, together] = call ? call.route : [];
  const isBase = cell.i === panel.rows[row].picks[column], marks = [];
  if (!isChanged() && range && range[2]) marks.push({sign: "≈", words: "a near-tie"});
  const refuted = isBase && (panel.rows[row].refuted || []).find(([at]) => at === column);
  if (refuted) marks.push({sign: "!", words: `no advice: ${nameOf(refuted[1])} was measured faster, ${timeText(refuted[2])}`});
  if (together) {
    const other = !isChanged() && taken !== cell.i ? `: the step takes ${nameOf(taken)}` : "";
    marks.push({sign: "&", words: "chosen together with the calls at once" + other});
  }
  if (cell.x !== undefined) marks.push({sign: "*", words: `extrapolated from ${cell.x}`});
  const lacks = isBase && range && range[4] || !isChanged() && unsure;
  if (lacks) marks.push({sign: "?", words: `unsure: ${lacks} is not in the machine file`});
  else if (isBase && !isChanged() && range && range[5] !== null)
    marks.push({sign: "?", words: `unsure: the intervals overlap by ${range[5] || "the model's own error"}`});
  else if (picked.unknown) marks.push({sign: "?", words: "unsure: a price is not known"});
  return marks;
}

