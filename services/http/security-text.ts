import { createRouter, notFound } from '#services/platform/http/http.ts';

/** How long a copy counts; each answer begins it again, so the file never lapses. */
const validDays = 180;

/** `/.well-known/security.txt` (RFC 9116); 404 while the operator has no contact address. */
export function securityText({
  contactEmail,
  publicUrl,
  clock,
}: {
  contactEmail: string | null;
  publicUrl: string;
  clock: () => number;
}) {
  return createRouter().get('/.well-known/security.txt', (context) => {
    if (contactEmail === null) throw notFound();
    const expires = new Date(clock() + validDays * 86_400_000);
    expires.setUTCHours(0, 0, 0, 0);
    const lines = [
      `Contact: mailto:${contactEmail}`,
      `Contact: ${publicUrl}/contact?topic=security`,
      `Expires: ${expires.toISOString()}`,
      'Preferred-Languages: en',
      `Canonical: ${publicUrl}/.well-known/security.txt`,
      `Policy: ${publicUrl}/security`,
    ];
    return context.text(`${lines.join('\n')}\n`, 200, { 'Cache-Control': 'max-age=86400' });
  });
}
