import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { printTable } from './report.ts';

/** Fetched by npx, because it is four times the size of everything else this repository installs. */
const lighthouse = 'lighthouse@13.5.0';

const paths = ['/', '/signup', '/login', '/help', '/how-it-works'];

/** Scores of 100; times in milliseconds. */
const limits = {
  performance: 98,
  accessibility: 100,
  'best-practices': 100,
  seo: 100,
  LCP: 1_200,
  CLS: 0.02,
  TBT: 150,
};
type Measure = keyof typeof limits;
const isScore = (measure: Measure): boolean => limits[measure] === 100 || measure === 'performance';

/** What a report holds of what is measured here. */
type Report = {
  categories: Record<string, { score: number | null }>;
  audits: Record<string, { numericValue?: number }>;
};

/**
 * Lighthouse for a phone, for the built pages sent by the server's own code: the median of `rounds` beside the
 * limits, and the range, which says how noisy the machine was.
 */
export async function benchPages({ rounds }: { rounds: number }): Promise<void> {
  const site = spawn(process.execPath, [join(import.meta.dirname, 'pages-site-process.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const [first] = (await once(site.stdout, 'data')) as [Buffer];
    const [origin = '', browser = ''] = first.toString().trim().split(' ');
    const rows = [['', ...Object.entries(limits).map(([name, limit]) => `${name} ${limit}`)]];
    for (const path of paths) {
      const reports: Record<Measure, number>[] = [];
      for (let round = 0; round < rounds; round += 1)
        reports.push(await measured(`${origin}${path}`, browser));
      const cells = (Object.keys(limits) as Measure[]).map((measure) => {
        const values = reports.map((report) => report[measure]).toSorted((a, b) => a - b);
        const median = values[Math.floor(values.length / 2)] ?? Number.NaN;
        const holds = isScore(measure) ? median >= limits[measure] : median <= limits[measure];
        return `${median}${holds ? '' : ' !'} (${values[0]}–${values.at(-1)})`;
      });
      rows.push([path, ...cells]);
    }
    printTable(`Pages: Lighthouse, phone, median of ${rounds} (lowest to highest)`, rows);
  } finally {
    site.kill();
  }
}

async function measured(url: string, browser: string): Promise<Record<Measure, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'sevenfold-lighthouse-'));
  try {
    const path = join(folder, 'report.json');
    const flags = ['--no-sandbox', '--headless', '--disable-gpu'].join(' ');
    const run = spawn(
      'npx',
      [
        '--yes',
        lighthouse,
        url,
        '--quiet',
        '--output=json',
        `--output-path=${path}`,
        `--chrome-flags=${flags}`,
      ],
      { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, CHROME_PATH: browser } },
    );
    const [code] = (await once(run, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`Lighthouse ended with ${code} for ${url}`);
    const { categories, audits } = JSON.parse(readFileSync(path, 'utf8')) as Report;
    const score = (name: string): number => Math.round((categories[name]?.score ?? 0) * 100);
    const value = (name: string): number => audits[name]?.numericValue ?? Number.NaN;
    return {
      performance: score('performance'),
      accessibility: score('accessibility'),
      'best-practices': score('best-practices'),
      seo: score('seo'),
      LCP: Math.round(value('largest-contentful-paint')),
      CLS: Math.round(value('cumulative-layout-shift') * 1_000) / 1_000,
      TBT: Math.round(value('total-blocking-time')),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
