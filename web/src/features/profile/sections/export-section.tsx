import { lazy, type ReactNode, Suspense, useState } from 'react';
import { ExportReply } from '#services/identity/contract.ts';
import { read } from '#web/api/api.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { saveText } from '#web/ui/save-file.ts';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { proofWithoutPassword, wantsProof } from '#web/features/profile/recent-proof.ts';
import { Section } from '#web/features/profile/section.tsx';
import { useAction } from '#web/features/profile/use-action.ts';

const PasswordGate = lazy(async () => ({
  default: (await import('#web/features/profile/password-gate.tsx')).PasswordGate,
}));

/** Collecting everything takes the server longer than an ordinary call. */
const exportTimeoutMs = 60_000;
const fileName = 'sevenfold-export.json';

export function ExportSection({ hasPassword }: { hasPassword: boolean | null }): ReactNode {
  const { run, busy, failure } = useAction();
  const [isAsked, setAsked] = useState(false);
  const [csv, setCsv] = useState<ExportReply['csv'] | null>(null);

  const download = async (): Promise<null> => {
    const { csv: files, ...whole } = await read('/users/me/export', ExportReply, {
      timeoutMs: exportTimeoutMs,
    });
    saveText(fileName, JSON.stringify(whole, null, 2), 'application/json');
    setAsked(false);
    setCsv(files);
    return null;
  };
  const start = (): void =>
    run(async () => {
      try {
        return await download();
      } catch (error) {
        if (!wantsProof(error) || hasPassword === false) throw error;
        setAsked(true);
        return null;
      }
    });
  return (
    <Section
      title="Your data"
      about="Everything we keep about you, in one file, plus each table as a spreadsheet. Secrets such as the hash of your password are left out."
    >
      {isAsked ? (
        <Suspense fallback={<Skeleton className="h-48" />}>
          <PasswordGate onProved={download} onCancel={() => setAsked(false)} />
        </Suspense>
      ) : (
        <>
          <Outcome
            done={csv && !failure ? `${fileName} is in your downloads.` : null}
            failure={failure}
            title="We couldn't export your data"
            safe={wantsProof(failure) ? proofWithoutPassword : 'Nothing is lost.'}
          />
          <Button onClick={start} busy={busy}>
            {busy ? 'Preparing…' : 'Export my data'}
          </Button>
        </>
      )}
      {csv ? <Tables csv={csv} /> : null}
    </Section>
  );
}

function Tables({ csv }: { csv: ExportReply['csv'] }): ReactNode {
  return (
    <div className="space-y-2">
      <p className="text-sm text-ink-2">Or download one table:</p>
      <ul aria-label="Tables" className="flex flex-wrap gap-2">
        {Object.entries(csv).map(([name, content]) => (
          <li key={name}>
            <Button onClick={() => saveText(name, content, 'text/csv')}>{name}</Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
