import { type ReactNode, useState } from 'react';
import { ThemeSwitch } from '#web/features/shell/theme-switch.tsx';
import { Announcer } from '#web/ui/feedback/announcer.tsx';
import { Button, type ButtonTone } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { EmptyState } from '#web/ui/feedback/empty-state.tsx';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Checkbox, SelectField, TextArea, TextField } from '#web/ui/form/field.tsx';
import { percent, price, signedCredits } from '#web/ui/text/figures.ts';
import { credits, creditsInWords, latency, modelCost } from '#services/platform/numbers.ts';
import { Markdown } from '#web/ui/text/markdown.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { PasswordField } from '#web/ui/form/password-field.tsx';
import { ProgressBar } from '#web/ui/feedback/progress-bar.tsx';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { Ring } from '#web/ui/ring.tsx';
import { Loading, Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { SkipLink } from '#web/features/shell/skip-link.tsx';
import { Badge, Status, type StatusTone } from '#web/ui/feedback/status.tsx';
import { DataTable, TableToggle } from '#web/ui/table-toggle.tsx';
import { Tile, TileRow } from '#web/ui/tile.tsx';
import type { ToastType } from '#web/ui/feedback/toast-card.tsx';
import { showToast, Toasts } from '#web/ui/feedback/toasts.tsx';

const tones: readonly ButtonTone[] = ['primary', 'secondary', 'quiet', 'danger'];
const statuses: readonly StatusTone[] = ['ok', 'active', 'warn', 'bad', 'info', 'neutral'];
const toasts: readonly ToastType[] = ['success', 'error', 'warning', 'info'];

const text = `# Move one offer first

Keep **two** retained clients through the change.

- A fixed scope, see [the example](https://example.com/scope)
- A link that is not allowed: [here](javascript:alert(1))

| Step | Week |
|---|---|
| Scope | 1 |
| Price | 2 |

![an image that is never loaded](https://example.com/pixel.png)
`;

/** Example values only. */
export function Gallery(): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-12 px-4 py-8 sm:px-6">
      <SkipLink />
      <header className="flex flex-wrap items-center justify-between gap-4">
        <h1 className="text-4xl">Gallery</h1>
        <ThemeSwitch />
      </header>
      <main id="main" tabIndex={-1} className="space-y-12">
        <Buttons />
        <Fields />
        <Statuses />
        <Progress />
        <Notices />
        <Waiting />
        <Overlays />
        <Figures />
        <Rings />
        <Part title="Markdown">
          <Markdown text={text} />
        </Part>
        <Tables />
        <Colours />
      </main>
      <Toasts />
      <Announcer />
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <section className="space-y-4">
      <h2 className="border-b border-line pb-2 text-2xl">{title}</h2>
      {children}
    </section>
  );
}

function Row({ children }: { children: ReactNode }): ReactNode {
  return <div className="flex flex-wrap items-center gap-4">{children}</div>;
}

function Buttons(): ReactNode {
  return (
    <Part title="Button">
      {tones.map((tone) => (
        <Row key={tone}>
          <Button tone={tone}>{tone}</Button>
          <Button tone={tone} disabled>
            disabled
          </Button>
          <Button tone={tone} busy>
            busy
          </Button>
        </Row>
      ))}
    </Part>
  );
}

function Fields(): ReactNode {
  return (
    <Part title="Fields">
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
        <TextField label="Plain" name="plain" />
        <TextField label="With a hint" name="hint" hint="Up to 120 characters." required />
        <TextField
          label="With an error"
          name="error"
          defaultValue="someone@"
          error="Please enter a valid email address"
        />
        <TextField label="Disabled" name="disabled" defaultValue="Fixed" disabled />
        <TextArea
          label="Text area"
          name="area"
          aside={<span className="text-sm text-ink-3">3,920 of 4,000</span>}
        />
        <SelectField label="Select" name="select">
          <option>Business strategy</option>
          <option>Marketing</option>
        </SelectField>
        <PasswordField label="Password" name="password" autoComplete="current-password" />
        <PasswordField
          label="Password with an error"
          name="password2"
          autoComplete="new-password"
          error="Password is required"
        />
        <Checkbox label="Checkbox" name="check" hint="What it changes." />
        <Checkbox label="Checkbox with an error" name="check2" error="You must accept this" />
      </div>
    </Part>
  );
}

function Statuses(): ReactNode {
  return (
    <Part title="Status and badge">
      <Row>
        {statuses.map((tone) => (
          <Status key={tone} tone={tone}>
            {tone}
          </Status>
        ))}
      </Row>
      <Row>
        {statuses.map((tone) => (
          <Badge key={tone} tone={tone}>
            {tone}
          </Badge>
        ))}
      </Row>
    </Part>
  );
}

function Progress(): ReactNode {
  return (
    <Part title="Progress">
      <ProgressBar label="Not begun" value={0} />
      <ProgressBar label="Strategic seat" value={46.8} className="text-strategic" />
      <ProgressBar label="Risk seat" value={75} className="text-risk" />
      <ProgressBar label="Done" value={100} className="text-ok" />
    </Part>
  );
}

function Notices(): ReactNode {
  return (
    <Part title="Notice, empty, error">
      <Notice title="For information">One sentence.</Notice>
      <Notice tone="ok" title="Done" onDismiss={() => {}}>
        It can be dismissed.
      </Notice>
      <Notice tone="warn" title="Draft" />
      <Notice tone="bad" title="Login failed" actions={<Button>Send a new link</Button>}>
        Login failed. Please check your credentials.
      </Notice>
      <EmptyState action={<Button tone="primary">New Optimization</Button>}>
        Your runs will be listed here.
      </EmptyState>
      <ErrorState
        title="Failed to load credit information"
        safe="Nothing was charged."
        reference="req_01J8ZK3"
        onRetry={() => {}}
      />
    </Part>
  );
}

function Waiting(): ReactNode {
  const [loading, setLoading] = useState(false);
  return (
    <Part title="Skeleton">
      <Button onClick={() => setLoading(!loading)}>{loading ? 'Finish' : 'Load again'}</Button>
      <Loading
        loading={loading}
        label="Loading the example"
        skeleton={<Skeleton className="h-24" />}
      >
        {() => <Card className="h-24">Loaded</Card>}
      </Loading>
      <Skeleton className="h-6 w-1/2" />
    </Part>
  );
}

function Overlays(): ReactNode {
  const [open, setOpen] = useState<'dialog' | 'sheet' | null>(null);
  const close = (): void => setOpen(null);
  return (
    <Part title="Dialog and toasts">
      <Row>
        <Button onClick={() => setOpen('dialog')}>Dialog</Button>
        <Button onClick={() => setOpen('sheet')}>Sheet</Button>
        {toasts.map((type) => (
          <Button
            key={type}
            onClick={() => showToast(type, `A toast: ${type}`, { message: 'Said aloud as well.' })}
          >
            {type}
          </Button>
        ))}
        <Button
          onClick={() =>
            showToast('info', 'A toast with something to do', {
              action: {
                label: 'Undo',
                about: 'the toast',
                takesFocus: true,
                run: async () => 'It could not be done. Please try again.',
              },
            })
          }
        >
          with an action
        </Button>
      </Row>
      <Dialog
        open={open !== null}
        onClose={close}
        sheet={open === 'sheet'}
        title="Cancel this run?"
        actions={
          <>
            <Button onClick={close}>Keep running</Button>
            <Button tone="danger" onClick={close}>
              Cancel, 7 credits come back
            </Button>
          </>
        }
      >
        <p>The first model has answered, so half of the 14 credits return.</p>
      </Dialog>
    </Part>
  );
}

function Figures(): ReactNode {
  return (
    <Part title="Figures">
      <TileRow>
        <Tile label="Available Credits" value={credits(1250)} detail="14 reserved" />
        <Tile label="Unknown" value={credits(null)} />
        <Tile label="Price" value={creditsInWords(14)} />
        <Tile label="Change" value={`${signedCredits(50)} ${signedCredits(-14)}`} />
        <Tile label="Model cost" value={`${modelCost(0.331)} ${modelCost(0.0004)}`} />
        <Tile label="Package" value={`${price(500)} ${price(750)}`} />
        <Tile label="Progress" value={percent(46.9)} />
        <Tile label="Latency" value={`${latency(840)} ${latency(2400)}`} />
        <Tile label="When" value={<RelativeTime at={new Date(0).toISOString()} />} />
      </TileRow>
    </Part>
  );
}

function Rings(): ReactNode {
  return (
    <Part title="Agreement ring">
      <Row>
        <Ring score={92} />
        <Ring score={68} />
        <Ring score={46} note="Stopped at 60: a third contest a claim the decision hangs on." />
        <Ring score={0} />
        <Ring score={null} />
      </Row>
    </Part>
  );
}

function Tables(): ReactNode {
  return (
    <Part title="Table">
      <TableToggle
        drawing={<Card>The drawing</Card>}
        table={
          <DataTable
            caption="Seats"
            rows={[
              { seat: 'S1', progress: 46 },
              { seat: 'R1', progress: 75 },
            ]}
            rowKey={(row) => row.seat}
            columns={[
              { id: 'seat', title: 'Seat', cell: (row) => row.seat },
              {
                id: 'progress',
                title: 'Progress',
                cell: (row) => percent(row.progress),
                numeric: true,
              },
            ]}
          />
        }
      />
    </Part>
  );
}

function Colours(): ReactNode {
  return (
    <Part title="Colours">
      <Row>
        <span className="text-ink">ink</span>
        <span className="text-ink-2">ink-2</span>
        <span className="text-ink-3">ink-3</span>
        <span className="text-accent">accent</span>
        <span className="text-strategic">S strategic</span>
        <span className="text-risk">R risk</span>
        <span className="text-implementation">I implementation</span>
      </Row>
    </Part>
  );
}
