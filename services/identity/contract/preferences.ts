import * as v from 'valibot';
import { locales } from './locales.ts';

const notValid = "This field isn't valid.";

const Theme = v.pipe(
  v.nullable(v.picklist(['system', 'light', 'dark'], notValid)),
  v.description('Null until it was chosen; each device then keeps its own'),
);
const Motion = v.pipe(
  v.picklist(['system', 'reduced', 'full'], notValid),
  v.description('`reduced` shows every change at once; `full` overrules the system'),
);
const Density = v.picklist(['comfortable', 'compact'], notValid);
const SingleKeys = v.pipe(
  v.boolean(notValid),
  v.description('Whether single keys such as `n` are shortcuts on the pages'),
);
const NotifyBrowser = v.pipe(
  v.nullable(v.boolean(notValid)),
  v.description('A notification of the browser when a run ends; null until it was answered'),
);

const OutcomeEmails = v.pipe(
  v.boolean(notValid),
  v.description('Email 30 and 90 days after a result, to ask what came of it'),
);

/** How a user wants the pages to be, on every device, and what they want to be asked by email. */
export const Preferences = v.object({
  theme: Theme,
  motion: Motion,
  density: Density,
  single_keys: SingleKeys,
  locale: v.pipe(
    v.nullable(v.string()),
    v.description('Writes dates and numbers; null for the one of the browser'),
  ),
  notify_browser: NotifyBrowser,
  outcome_emails: OutcomeEmails,
});
export type Preferences = v.InferOutput<typeof Preferences>;

/** Any of them; what is left out stays. Written out, so that pages which change none carry none. */
export const PreferencesChange = v.strictObject({
  theme: v.optional(Theme),
  motion: v.optional(Motion),
  density: v.optional(Density),
  single_keys: v.optional(SingleKeys),
  locale: v.optional(v.nullable(v.picklist(locales, notValid))),
  notify_browser: v.optional(NotifyBrowser),
  outcome_emails: v.optional(OutcomeEmails),
});
export type PreferencesChange = v.InferInput<typeof PreferencesChange>;

export const defaultPreferences: Preferences = {
  theme: null,
  motion: 'system',
  density: 'comfortable',
  single_keys: true,
  locale: null,
  notify_browser: null,
  outcome_emails: false,
};
