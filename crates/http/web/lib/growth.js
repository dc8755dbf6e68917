// The scale of a plot. Pure.

/**
 * A round, even number at or above the highest value, for the axis: half of it is named, too, and memories are whole.
 * @param {number} highest
 */
export function ceiling(highest) {
  if (highest <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [1, 1.5, 2, 3, 4, 6, 8, 10].find((factor) => factor * power >= highest && (factor * power) % 2 === 0) ?? 10;
  return step * power;
}
