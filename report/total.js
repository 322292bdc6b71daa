/* What a step takes as a whole, by the cheapest route of each call: the rule of model/src/decide/step.c. Calls at once
 * also share what their processes and nodes have, which the formulas of single calls do not show. */
const StepTotal = {
  /* [communication, exposed, step] in seconds; null where it is not known. `seconds`: of each call once, by its
   * cheapest route; null where that is not known. */
  add(entries, seconds) {
    let communication = 0, exposed = 0, step = 0;
    for (const entry of entries) {
      if (entry.calls.length > 1 || entry.calls.some(([call]) => seconds[call] === null)) return null;
      const own = entry.calls.reduce((sum, [call, times]) => sum + times * seconds[call], 0);
      communication += own;
      exposed += Math.max(own - entry.compute, 0);
      step += Math.max(own, entry.compute);
    }
    return [communication, exposed, step];
  },
};

/* The step's total: the program's own while nothing is changed. */
function showTotal() {
  byId("total").hidden = !data.step;
  if (!data.step) return;
  const seconds = prices[0][0] ? prices[0].map((found, column) => {
    const {at, unknown} = pick(0, column);
    return at < 0 || unknown ? null : found[at].seconds;
  }) : [];
  const total = isChanged() ? StepTotal.add(data.step.entries, seconds) : data.step.own;
  if (!total) {
    const atOnce = data.step.entries.some(entry => entry.calls.length > 1);
    byId("total").textContent = `The step's total is not known with these values, ` +
      (atOnce ? "as some of its calls run at once" : "as the price of a call is not") + "; the command under the sliders does.";
    return;
  }
  const [communication, exposed, step] = total.map(timeText);
  byId("total").textContent = `By the cheapest route of each call, ${isChanged() ? "with the machine changed" : "with the machine as it is"}, ` +
    `the step communicates for ${communication}, of which computation does not hide ${exposed}, and takes ${step}. Below, each call is alone.`;
}
