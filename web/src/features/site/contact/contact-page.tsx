import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { contactEmail } from '#web/app/product.ts';
import { Card } from '#web/ui/card.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { ContactForm, type Sent } from './contact-form.tsx';

export function ContactPage({
  user,
  topic,
}: {
  /** Undefined while it is not known whether someone is signed in. */
  user: { id: string; email: string } | null | undefined;
  /** Which the link names; an unknown one changes nothing. */
  topic: string | undefined;
}): ReactNode {
  const [sent, setSent] = useState<Sent | null>(null);
  return (
    <div className="mx-auto grid w-full max-w-page grid-cols-1 gap-x-12 gap-y-8 px-4 pt-8 sm:px-6 lg:grid-cols-12 lg:pt-12">
      <div className="space-y-6 lg:col-span-7">
        <h1 className="text-4xl">Contact</h1>
        <Card>
          {sent === null ? (
            <ContactForm user={user} topic={topic} onSent={setSent} />
          ) : (
            <Arrived sent={sent} onAgain={() => setSent(null)} />
          )}
        </Card>
      </div>
      <aside className="prose lg:col-span-5 lg:pt-16">
        <p>
          Many questions are answered in <Link to="/help">Help</Link>.
        </p>
        <p>
          Your message goes to the operator of this site. We store it encrypted for a year at most.
          If you are signed in, it is part of the data you can download and delete.
        </p>
        {contactEmail ? (
          <p>
            You can also write to <a href={`mailto:${contactEmail}`}>{contactEmail}</a>.
          </p>
        ) : null}
      </aside>
    </div>
  );
}

function Arrived({ sent, onAgain }: { sent: Sent; onAgain: () => void }): ReactNode {
  const notice = useRef<HTMLDivElement>(null);
  useEffect(() => notice.current?.focus(), []);
  const { reference, emailed, email } = sent;
  return (
    <Notice
      tone="ok"
      title="Your message has arrived"
      announced={`Your message has arrived. Its reference is ${reference}.`}
      focusRef={notice}
      actions={<Button onClick={onAgain}>Write another message</Button>}
    >
      <p>
        Its reference is <strong>{reference}</strong>.{' '}
        {emailed ? `We email it to ${email}, too.` : 'Please note it down.'}
      </p>
    </Notice>
  );
}
