import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { analyticsUrl } from '#web/app/product.ts';
import { openSettings } from '#web/consent/banner.ts';
import { cookies, type Kept, keys } from '#web/consent/register.ts';
import { Button } from '#web/ui/form/button.tsx';

/** Made from the register, so it names what is really kept. */
export function CookiesPage(): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-10 px-4 pt-8 sm:px-6 lg:pt-12">
      <div className="max-w-prose space-y-4">
        <h1 className="text-4xl">Cookies</h1>
        <p className="text-lg text-ink-2">
          Every cookie and every key that this site keeps in your browser. We keep functional data
          only if you agree. Without it, drafts last until you close the page.
        </p>
        <Button onClick={openSettings}>Cookie Settings</Button>
      </div>
      <List
        id="cookies"
        title="Cookies"
        about="Sent to this server with each request. A server without https uses names that begin with sf_ instead of __Host-."
        kept={cookies}
      />
      <List
        id="keys"
        title="Keys in this browser"
        about="Read by our pages only. Drafts are sent only when you submit the form."
        kept={keys}
      />
      <section aria-labelledby="others" className="prose">
        <h2 id="others">From others</h2>
        {analyticsUrl === undefined ? (
          <p>This site has no advertising and no analytics.</p>
        ) : (
          <p>
            This site has no advertising. If you agree to analytics, a script from{' '}
            {new URL(analyticsUrl).host} measures visits, and may keep cookies of its own. It is not
            loaded before. A browser that sends Global Privacy Control refuses it for you.
          </p>
        )}
        <p>
          You pay on Stripe's pages, which have{' '}
          <a href="https://stripe.com/legal/cookies-policy">cookies of their own</a>.
        </p>
        <p>
          What we store on our servers is in the <Link to="/privacy">privacy policy</Link>.
        </p>
      </section>
    </div>
  );
}

function List({
  id,
  title,
  about,
  kept,
}: {
  id: string;
  title: string;
  about: string;
  kept: Readonly<Record<string, Kept>>;
}): ReactNode {
  return (
    <section aria-labelledby={id} className="space-y-4">
      <h2 id={id} className="text-2xl">
        {title}
      </h2>
      <p className="max-w-prose text-ink-2">{about}</p>
      <dl className="divide-y divide-line border-y border-line">
        {Object.entries(kept).map(([name, { what, purpose, lasts }]) => (
          <div key={name} className="grid grid-cols-1 gap-x-6 gap-y-1 py-4 lg:grid-cols-12">
            <dt className="font-mono text-sm lg:col-span-4">
              {name.endsWith('.') ? `${name}…` : name}
            </dt>
            <dd className="max-w-prose lg:col-span-5">{what}</dd>
            <dd className="text-sm text-ink-2 lg:col-span-3">
              {purpose === 'necessary' ? 'Necessary' : 'Functional'}. {lasts}.
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
