/** Figures of a page of metrics. */
export type Page = {
  names: ReadonlySet<string>;
  /** The sum over all series with these labels; null when there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | null;
};

export async function readPage(port: number): Promise<Page> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
  return parsePage(await response.text());
}

export function parsePage(text: string): Page {
  const series = text.split('\n').flatMap((line) => {
    const match = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (\S+)$/i.exec(line);
    if (match === null) return [];
    const labels = [...(match[2] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(
      ([, name, value]) => [name!, value!] as const,
    );
    return [{ name: match[1]!, labels: new Map(labels), value: Number(match[3]) }];
  });
  return {
    names: new Set(series.map(({ name }) => name)),
    value(name, labels = {}) {
      const found = series.filter(
        (one) =>
          one.name === name &&
          Object.entries(labels).every(([label, value]) => one.labels.get(label) === value),
      );
      return found.length === 0 ? null : found.reduce((sum, one) => sum + one.value, 0);
    },
  };
}
