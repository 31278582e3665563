/** "completed 3, failed 1" */
export function countsInWords(values: readonly string[]): string {
  const counts = Map.groupBy(values, (value) => value);
  return [...counts].map(([value, all]) => `${value} ${all.length}`).join(', ');
}
