/* Prices from the formulas that the program has exported (model/report/report_data.c), with other values of
 * the parameters. */
"use strict";
const Formula = (() => {
  const HOPELESS = 2, SAME = 1e-9, ROUNDING = 1e-13;

  function sum(terms, value) {
    let total = terms[0];
    for (let i = 1; i < terms.length; i += 2) total += terms[i + 1] * value[terms[i]];
    return total;
  }

  function operate(cell, variables) {
    const value = variables.slice();
    for (const [op, a, b] of cell.o) {
      const x = sum(a, value), y = sum(b, value);
      value.push(op === 0 ? Math.max(x, y) : op === 1 ? x * y : x / y);
    }
    return value;
  }

  function isMet(condition, cell, value, price) {
    const [ahead, of] = cell.g[Math.abs(condition) - 1], holds = condition > 0;
    const by = sum(ahead, value);
    if (of) return (Math.abs(by) <= SAME * Math.abs(sum(of, value))) === holds;
    return (by > 0) === holds || Math.abs(by) <= ROUNDING * price;
  }

  /* Of the first formula that holds; NaN: none does. */
  function planPrice(plan, cell, value) {
    for (let f = 1; f < plan.length; f++) {
      const price = sum(plan[f][0], value);
      let met = true;
      for (let c = 1; c < plan[f].length && met; c++) met = isMet(plan[f][c], cell, value, price);
      if (met) return price;
    }
    return NaN;
  }

  /* The cheapest of a cell's plans: {seconds, choice}, or null where the price is not known. */
  function price(cell, variables) {
    if (!cell.f) return null;
    const value = operate(cell, variables);
    let best = null;
    for (const [inChunks, ...plans] of cell.f) {
      let cheapest = Infinity;
      for (const plan of plans) {
        const seconds = planPrice(plan, cell, value);
        if (Number.isNaN(seconds)) return null;
        if (!best || seconds < best.seconds) best = {seconds, choice: plan[0]};
        cheapest = Math.min(cheapest, seconds);
        if (inChunks && seconds > HOPELESS * cheapest) break;
      }
    }
    return best;
  }

  return {price};
})();
