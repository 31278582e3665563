/** The webmail of a few large providers, by domain. */
const mailboxes: readonly { name: string; url: string; domains: readonly string[] }[] = [
  { name: 'Gmail', url: 'https://mail.google.com/', domains: ['gmail.com', 'googlemail.com'] },
  {
    name: 'Outlook',
    url: 'https://outlook.live.com/mail/',
    domains: ['outlook.com', 'hotmail.com', 'live.com', 'msn.com'],
  },
  { name: 'Yahoo Mail', url: 'https://mail.yahoo.com/', domains: ['yahoo.com', 'ymail.com'] },
  {
    name: 'iCloud Mail',
    url: 'https://www.icloud.com/mail',
    domains: ['icloud.com', 'me.com', 'mac.com'],
  },
  {
    name: 'Proton Mail',
    url: 'https://mail.proton.me/',
    domains: ['proton.me', 'protonmail.com', 'pm.me'],
  },
];

/** Null for an unknown provider, which is the usual case. */
export function mailboxOf(email: string): { name: string; url: string } | null {
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  const found = mailboxes.find(({ domains }) => domains.includes(domain));
  return found ? { name: found.name, url: found.url } : null;
}
