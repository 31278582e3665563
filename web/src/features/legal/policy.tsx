import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { policyVersion } from '#services/identity/contract/forms.ts';
import { dayInWords } from '#services/platform/locale.ts';
import { contactEmail } from '#web/app/product.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';

const effective = dayInWords(policyVersion);

export type PolicySection = { id: string; title: string; body: ReactNode };

/** A legal page: its version and its sections, each with an anchor. */
export function Policy({
  title,
  lead,
  sections,
}: {
  title: string;
  lead: ReactNode;
  sections: readonly PolicySection[];
}): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-10 px-4 pt-8 sm:px-6 lg:pt-12">
      <div className="max-w-prose space-y-4">
        <h1 className="text-4xl">{title}</h1>
        <p className="text-lg text-ink-2">{lead}</p>
        <p className="text-sm text-ink-3">
          Version {policyVersion}, effective <time dateTime={policyVersion}>{effective}</time>
        </p>
        <Notice tone="warn" title="Draft">
          <p>
            The operator of this site hasn't replaced this text with a reviewed version yet. It
            describes what the software does. Promises about the operator’s own conduct are the
            operator’s to keep.
          </p>
        </Notice>
      </div>
      <div className="grid grid-cols-1 gap-x-6 gap-y-10 lg:grid-cols-12">
        <nav aria-label={`Sections of the ${title}`} className="lg:col-span-4 print:hidden">
          <ol className="space-y-1">
            {sections.map(({ id, title: name }) => (
              <li key={id}>
                <a
                  href={`#${id}`}
                  className="inline-flex min-h-11 items-center text-ink-2 hover:text-ink hover:underline"
                >
                  {name}
                </a>
              </li>
            ))}
          </ol>
        </nav>
        <div className="space-y-10 lg:col-span-8">
          {sections.map(({ id, title: name, body }) => (
            <section key={id} aria-labelledby={id} className="prose">
              <h2 id={id}>{name}</h2>
              {body}
            </section>
          ))}
        </div>
      </div>
    </div>
  );
}

/** The operator's contact address, if set. */
export function Contact(): ReactNode {
  return contactEmail ? (
    <p>
      Write to <a href={`mailto:${contactEmail}`}>{contactEmail}</a> or use the{' '}
      <Link to="/contact">contact form</Link>.
    </p>
  ) : (
    <p>
      Use the <Link to="/contact">contact form</Link>. The operator of this site hasn't set a
      contact address yet.
    </p>
  );
}
