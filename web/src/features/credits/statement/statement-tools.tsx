import { Link, useNavigate } from '@tanstack/react-router';
import { FileDown, Printer } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { problemSentence } from '#web/api/problem-words.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { SelectField } from '#web/ui/form/field.tsx';
import { saveFile } from '#web/ui/save-file.ts';
import { longMonth } from '#web/features/credits/consumption.ts';
import { readStatementCsv } from './statement-queries.ts';

/** Download and print. */
export function StatementTools({ month }: { month: string }): ReactNode {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const download = async (): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      saveFile(`sevenfold-statement-${month}.csv`, await readStatementCsv(month));
    } catch (error) {
      setFailure(`We couldn't create the file. ${problemSentence(error)}`);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    if (failure !== null) announce(failure, 'assertive');
  }, [failure]);
  return (
    <div className="space-y-2 print:hidden">
      <div className="flex flex-wrap gap-3">
        <Button onClick={() => void download()} busy={busy}>
          <FileDown size={16} aria-hidden="true" />
          {busy ? 'Preparing…' : 'Download CSV'}
        </Button>
        <Button onClick={() => print()}>
          <Printer size={16} aria-hidden="true" />
          Print or save as PDF
        </Button>
      </div>
      {failure === null ? null : <p className="text-bad">{failure}</p>}
    </div>
  );
}

/**
 * Links to other months. A choice is followed only by its button, because the keyboard steps
 * through a list one by one.
 */
export function MonthChooser({
  month,
  months,
}: {
  month: string;
  months: readonly string[];
}): ReactNode {
  const navigate = useNavigate();
  const [chosen, setChosen] = useState(month);
  const older = months.find((other) => other < month);
  const newer = months.findLast((other) => other > month);
  const offered = months.includes(month) ? months : [month, ...months].toSorted().toReversed();
  return (
    <nav aria-label="Months" className="space-y-3 print:hidden">
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void navigate({ to: '/credits/statements/$month', params: { month: chosen } });
        }}
      >
        <div className="min-w-0 max-sm:grow sm:w-60">
          <SelectField
            label="Month"
            name="month"
            value={chosen}
            onChange={({ target }) => setChosen(target.value)}
          >
            {offered.map((each) => (
              <option key={each} value={each}>
                {longMonth(each)}
              </option>
            ))}
          </SelectField>
        </div>
        <Button type="submit">Show</Button>
      </form>
      <p className="flex flex-wrap gap-x-6">
        {older === undefined ? null : <MonthLink month={older} way="Older" />}
        {newer === undefined ? null : <MonthLink month={newer} way="Newer" />}
      </p>
    </nav>
  );
}

function MonthLink({ month, way }: { month: string; way: string }): ReactNode {
  return (
    <Link
      to="/credits/statements/$month"
      params={{ month }}
      className="link inline-flex min-h-11 items-center"
    >
      {way}: {longMonth(month)}
    </Link>
  );
}
