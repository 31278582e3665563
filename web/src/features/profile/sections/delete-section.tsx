import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Section } from '#web/features/profile/section.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Button } from '#web/ui/form/button.tsx';
import type { DeletionProps } from './delete-form.tsx';

const DeleteForm = lazy(async () => ({ default: (await import('./delete-form.tsx')).DeleteForm }));

export function DeleteSection(props: DeletionProps): ReactNode {
  const [open, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <Section
      title="Delete account"
      about="Permanently removes your name, address, questions, and answers. We keep records of what was bought and used, without your name."
    >
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete my account
      </Button>
      <Dialog open={open} onClose={close} title="Delete your account?">
        <Suspense fallback={<Skeleton className="h-96" />}>
          <DeleteForm {...props} onKeep={close} />
        </Suspense>
      </Dialog>
    </Section>
  );
}
