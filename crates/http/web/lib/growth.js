// The scale of a plot. Pure.

/**
 * A round number at or above the highest value, for the axis.
 * @param {number} highest
 */
export function ceiling(highest) {
  if (highest <= 5) return 5;
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [1, 1.5, 2, 3, 4, 6, 8, 10].find((factor) => factor * power >= highest) ?? 10;
  return step * power;
}
