import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { contactEmail, productName } from '#web/app/product.ts';
import { ThemeSwitch } from './theme-switch.tsx';

const entry = 'inline-flex min-h-11 items-center text-ink-2 hover:text-ink hover:underline';

/** Only pages that exist. `signedIn` replaces the sign-in links. */
export function Footer({ signedIn }: { signedIn: boolean }): ReactNode {
  return (
    <footer className="mt-24 border-t border-line print:hidden">
      <div className="mx-auto grid grid-cols-1 max-w-page gap-x-6 gap-y-8 px-4 py-10 sm:grid-cols-2 sm:px-6 lg:grid-cols-4">
        <div className="space-y-2 lg:pe-8">
          <p className="font-semibold">{productName}</p>
          <p className="text-ink-2">
            One business question, seven or more AI models, and a recommendation that shows who
            agreed, who did not, and what it cost.
          </p>
        </div>
        <FooterColumn title="Product">
          <li>
            <Link to="/" hash="features" className={entry}>
              Features
            </Link>
          </li>
          <li>
            <Link to="/" hash="pricing" className={entry}>
              Pricing
            </Link>
          </li>
          <li>
            <Link to="/method" className={entry}>
              How agreement is computed
            </Link>
          </li>
          <li>
            <Link to="/recipes" className={entry}>
              Opportunity Patterns
            </Link>
          </li>
          <li>
            <a href="/api-docs" className={entry}>
              API
            </a>
          </li>
        </FooterColumn>
        <FooterColumn title="Account">
          {signedIn ? (
            <>
              <li>
                <Link to="/dashboard" className={entry}>
                  Dashboard
                </Link>
              </li>
              <li>
                <Link to="/credits" className={entry}>
                  Credits
                </Link>
              </li>
            </>
          ) : (
            <>
              <li>
                <Link to="/login" className={entry}>
                  Login
                </Link>
              </li>
              <li>
                <Link to="/signup" className={entry}>
                  Sign up
                </Link>
              </li>
            </>
          )}
        </FooterColumn>
        <FooterColumn title="Legal">
          <li>
            <Link to="/terms" className={entry}>
              Terms of Service
            </Link>
          </li>
          <li>
            <Link to="/privacy" className={entry}>
              Privacy Policy
            </Link>
          </li>
          {contactEmail ? (
            <li>
              <a href={`mailto:${contactEmail}`} className={entry}>
                {contactEmail}
              </a>
            </li>
          ) : null}
        </FooterColumn>
      </div>
      <div className="border-t border-line">
        <div className="mx-auto flex max-w-page flex-wrap items-center justify-between gap-4 px-4 py-4 sm:px-6">
          <p className="text-sm text-ink-3">© 2026 {productName}</p>
          <ThemeSwitch />
        </div>
      </div>
    </footer>
  );
}

function FooterColumn({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <p className="text-sm font-semibold text-ink-3">{title}</p>
      <ul>{children}</ul>
    </div>
  );
}
